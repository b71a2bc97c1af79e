package podmeta

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ullage/ullage/internal/printable"
)

// Bounds on an annotations file. Kubernetes allows a pod 256 KiB of
// annotations, of which a byte takes up to four when escaped.
const (
	maxFile  = 8 << 20  // bytes that are read
	maxLine  = 16 << 10 // bytes of a line that is kept, without its end
	maxKey   = 128      // bytes; Kubernetes allows 63 after the prefix
	maxOther = 1000     // keys that are kept besides the live ones
)

// ParseAnnotations reads a pod's annotations from a downward-API file and does
// with them what [ParseRequest] does. The kubelet writes a line for each, key
// and value as fmt.Sprintf("%v=%q") prints them, sorted by key, and no newline
// after the last (FormatMap in pkg/fieldpath of Kubernetes). For those who
// write it by hand, there may also be blank lines, lines that begin with "#",
// spaces around key and value, and CRLF; of a key that is there twice the last
// line counts.
//
// Memory is bounded, whatever the file holds: a line under [Prefix] that is
// longer than 16 KiB is a problem, others may have any length; of more than
// 1,000 annotations that are not live, the first are read; a file is read up to
// 8 MiB, and if it is longer, both groups are bad, since the rest may ask for
// something else.
//
// The error is that of reading. The request is then bad in both groups.
func ParseAnnotations(r io.Reader, known []string) (Request, []Problem, error) {
	unread := Request{LogBad: true, TriggerBad: true}
	limited := &io.LimitedReader{R: r, N: maxFile + 1}
	f := downwardFile{ours: map[string]entry{}}
	if err := f.read(bufio.NewReaderSize(limited, maxLine+1)); err != nil {
		return unread, nil, fmt.Errorf("read annotations: %w", err)
	}
	var p problemList
	if f.crowded {
		p.add(Prefix, "", fmt.Sprintf("there are more than %d annotations that begin so; only the first and the live ones are read", maxOther))
	}
	if limited.N <= 0 {
		p.add(Prefix, "", fmt.Sprintf("the annotations are longer than %d MiB; shorten them, they are ignored", maxFile>>20))
	}
	req, problems := interpret(f.ours, known, p.problems)
	if limited.N <= 0 {
		req = unread
	}
	return req, problems, nil
}

// downwardFile is what is kept of a file.
type downwardFile struct {
	ours    map[string]entry
	others  int  // of ours that are not live
	crowded bool // not all others were kept
}

// read reads the lines. The reader's buffer is as long as the longest line
// that is kept.
func (f *downwardFile) read(r *bufio.Reader) error {
	for {
		line, err := r.ReadSlice('\n')
		f.line(bytes.TrimSpace(line), err == bufio.ErrBufferFull)
		// The rest of a long line is no line, whatever it looks like.
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

// line reads one line, or the beginning of one that is too long.
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

// notInKey reports whether r can't be in the name of an annotation.
func notInKey(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_./", r)
}

// keep stores what a line says. Only a live annotation needs its value whole.
// A key too long for Kubernetes is cut: it is of no use but to be reported.
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
