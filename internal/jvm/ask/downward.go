package ask

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ullage/ullage/internal/base/printable"
)

// Bounds on an annotations file. Kubernetes allows a pod 256 KiB of
// annotations. An escaped byte takes up to four.
const (
	maxFile  = 8 << 20  // bytes of the file that are read
	maxLine  = 16 << 10 // bytes of a line, without its end
	maxKey   = 128      // bytes; Kubernetes allows 63 after the prefix
	maxOther = 1000     // keys that are kept in addition to the live ones
)

// ParseAnnotations reads a pod's annotations from a downward-API file and interprets them as
// [ParseRequest] does. The kubelet writes a line for each annotation, with key and value formatted
// by fmt.Sprintf("%v=%q"), sorted by key, without a newline after the last line (FormatMap in
// pkg/fieldpath of Kubernetes). ParseAnnotations also accepts what occurs in files written by hand:
// blank lines, lines that begin with "#", spaces around key and value, and CRLF. If a key occurs
// twice, the last line is used.
//
// Memory is bounded whatever the file contains. A line that begins with [Prefix] and is longer than
// 16 KiB is a problem; other lines may have any length. Only the first 1,000 annotations that are
// not live are read. At most 8 MiB of a file are read. If it is longer, all annotations are bad,
// because the rest may ask for something else.
//
// An error means that reading failed. All annotations are bad in that case too.
func ParseAnnotations(r io.Reader, known []string) (Request, []Problem, error) {
	unread := Request{LogBad: true, TriggerBad: true, AppLogBad: true, AdoptedBad: true, SaveBad: true}
	limited := &io.LimitedReader{R: r, N: maxFile + 1}
	f := downwardFile{ours: map[string]entry{}}
	if err := f.read(bufio.NewReaderSize(limited, maxLine+1)); err != nil {
		return unread, nil, fmt.Errorf("read annotations: %w", err)
	}
	var p problemList
	if f.crowded {
		p.add(Prefix, "", fmt.Sprintf("there are more than %d annotations with this prefix; only the first and the live ones are read", maxOther))
	}
	if limited.N <= 0 {
		p.add(Prefix, "", fmt.Sprintf("the annotations are longer than %d MiB and are ignored; shorten them", maxFile>>20))
	}
	req, problems := interpret(f.ours, known, p.problems)
	if limited.N <= 0 {
		req = unread
	}
	return req, problems, nil
}

// downwardFile has the annotations of a file that are kept.
type downwardFile struct {
	ours    map[string]entry
	others  int  // our annotations that are not live
	crowded bool // some of the others were not kept
}

// read reads the lines. The reader's buffer has room for the longest line that is kept.
func (f *downwardFile) read(r *bufio.Reader) error {
	for {
		line, err := r.ReadSlice('\n')
		f.line(bytes.TrimSpace(line), err == bufio.ErrBufferFull)
		// The rest of a long line is not a line, whatever it contains.
		for err == bufio.ErrBufferFull {
			_, err = r.ReadSlice('\n')
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// line parses one line, or the beginning of a line that is too long.
func (f *downwardFile) line(text []byte, tooLong bool) {
	if !bytes.HasPrefix(text, []byte(Prefix)) {
		return
	}
	line := string(text)
	key := line
	if end := strings.IndexFunc(line, notInKey); end >= 0 {
		key = line[:end]
	}
	if tooLong {
		f.keep(key, entry{bad: fmt.Sprintf("longer than %d bytes; shorten the value", maxLine)})
		return
	}
	rest := strings.TrimSpace(line[len(key):])
	quoted, ok := strings.CutPrefix(rest, "=")
	quoted = strings.TrimSpace(quoted)
	value, err := strconv.Unquote(quoted)
	if !ok || err != nil || quoted[0] != '"' {
		f.keep(key, entry{value: rest, bad: fmt.Sprintf(`cannot read the line; write it like %s="value", with the value quoted as in Go`, printable.Escaped(key, maxKey))})
		return
	}
	f.keep(key, entry{value: value})
}

// notInKey reports whether r cannot occur in the name of an annotation.
func notInKey(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_./", r)
}

// keep stores one annotation. Only live annotations need their whole value. A
// key that is too long for Kubernetes is cut, because it is only reported.
func (f *downwardFile) keep(key string, e entry) {
	for _, name := range Live() {
		if key == Prefix+name {
			f.ours[key] = e
			return
		}
	}
	key = strings.Clone(key[:min(len(key), maxKey)])
	if _, again := f.ours[key]; !again {
		if f.others == maxOther {
			f.crowded = true
			return
		}
		f.others++
	}
	e.value = printable.Escaped(e.value, maxValue)
	f.ours[key] = e
}
