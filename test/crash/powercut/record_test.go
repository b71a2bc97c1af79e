package powercut

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/segment"
)

// point is a moment between two calls.
type point struct {
	disk  *disk
	after string // the call before this moment
	safe  int    // a checkpoint has committed this many bytes of the text
	begin int    // retention may have deleted the text before this offset

	copied int // the sink had this many bytes of the text
}

// recording has the calls of sidecars on a destination, and what the sidecars had promised at each
// moment.
type recording struct {
	text   []byte // the JVM's lines, all of which are persisted in the end
	points []point

	disk   *disk
	source string
	seed   uint64 // decides how writes are torn
	calls  int
	sizes  map[string]int // the decoded size of the committed part of each segment of the stream
	safe   int
	copied int
}

func newRecording(source, dest string, seed uint64) *recording {
	r := &recording{disk: newDisk(dest), source: source, seed: seed, sizes: map[string]int{}}
	r.note("the beginning")
	return r
}

func (r *recording) note(after string) {
	r.points = append(r.points, point{disk: r.disk.clone(), after: after, safe: r.safe, begin: r.begin(), copied: r.copied})
}

// add adds the calls of one life of a sidecar.
func (r *recording) add(calls []call) error {
	r.disk.fds = map[int]*offset{}
	for _, c := range calls {
		r.calls++
		changed, err := r.disk.apply(c, r.seed<<32+uint64(r.calls))
		if err != nil {
			return fmt.Errorf("call %d: %w", r.calls, err)
		}
		committed, err := r.commit(c)
		if err != nil {
			return fmt.Errorf("call %d: %w", r.calls, err)
		}
		delivered, err := r.deliver(c)
		if err != nil {
			return fmt.Errorf("call %d: %w", r.calls, err)
		}
		if changed || committed || delivered {
			r.note(fmt.Sprintf("%d: %s %s", r.calls, c.name, strings.TrimPrefix(c.target(), r.disk.at)))
		}
	}
	return nil
}

// target returns the path on which a call works.
func (c call) target() string {
	if len(c.args) == 0 {
		return ""
	}
	if _, p := c.descriptor(0); len(c.args) == 1 || !strings.HasSuffix(c.name, "at") {
		return p
	}
	p, _ := c.path(0)
	return p
}

// deliver records the lines that a write to standard output delivers to the sink.
func (r *recording) deliver(c call) (delivered bool, err error) {
	if !c.delivers() {
		return false, nil
	}
	lines, err := c.bytes(1)
	if err != nil {
		return false, err
	}
	text := asWritten(lines[:c.result])
	at := bytes.Index(r.text, text)
	if at < 0 {
		return false, fmt.Errorf("the sink got lines that were never written: %.200q", text)
	}
	r.copied = max(r.copied, at+len(text))
	return true, nil
}

// delivers reports whether a call writes lines to the standard output.
func (c call) delivers() bool {
	return c.name == "write" && strings.HasPrefix(c.args[1], `"`+hexed(stream+" "))
}

// hexed returns a text in strace's hexadecimal form.
func hexed(text string) (hexed string) {
	for _, b := range []byte(text) {
		hexed += fmt.Sprintf(`\x%02x`, b)
	}
	return hexed
}

// asWritten returns the lines of the stream from a sidecar's standard output, in the form in which the JVM wrote them.
func asWritten(lines []byte) (text []byte) {
	for line := range bytes.Lines(lines) {
		if line, ok := bytes.CutPrefix(line, []byte(stream+" ")); ok {
			text = append(text, line...)
		}
	}
	return text
}

// savesCheckpoint reports whether a call writes a slot of the checkpoint.
func (c call) savesCheckpoint(source string) bool {
	return c.name == "pwrite64" && strings.HasPrefix(c.target(), filepath.Join(source, ".ullage", "checkpoint-"))
}

// commit records the mark of the stream in a checkpoint that a call saves: from then on, lines before the
// mark must never be lost.
func (r *recording) commit(c call) (saved bool, err error) {
	if !c.savesCheckpoint(r.source) {
		return false, nil
	}
	text, err := c.bytes(1)
	if err != nil {
		return false, err
	}
	_, body, _ := bytes.Cut(text, []byte("\n"))
	var saves struct {
		Streams []struct {
			Name string
			Mark segment.Mark
		}
	}
	if err := json.Unmarshal(body, &saves); err != nil {
		return false, fmt.Errorf("read a checkpoint: %w", err)
	}
	for _, s := range saves.Streams {
		if s.Name == stream && s.Mark != (segment.Mark{}) {
			return true, r.mark(s.Mark)
		}
	}
	return true, nil
}

func (r *recording) mark(m segment.Mark) error {
	is, ok := segment.ParseName(m.Segment)
	if !ok {
		return fmt.Errorf("a mark names %q", m.Segment)
	}
	if n := r.disk.find(stream + "/" + m.Segment); n != nil && !m.Gone {
		size, err := r.decoded(n, m)
		if err != nil {
			return err
		}
		r.sizes[m.Segment] = size
	}
	r.safe = 0
	for name, size := range r.sizes {
		if info, _ := segment.ParseName(name); info.Seq <= is.Seq {
			r.safe += size
		}
	}
	return nil
}

// decoded returns the decoded length of a segment up to a mark.
func (r *recording) decoded(n *node, m segment.Mark) (int, error) {
	data := n.durable
	for _, c := range n.changes {
		data = c.cached(data)
	}
	if int64(len(data)) < m.Offset {
		return 0, fmt.Errorf("a mark is at %d of %s, which has %d bytes", m.Offset, m.Segment, len(data))
	}
	dir, err := os.MkdirTemp("", "ullage-powercut-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, m.Segment)
	if err := os.WriteFile(path, data[:m.Offset], 0o600); err != nil {
		return 0, err
	}
	text, err := appendSegment(nil, path)
	return len(text), err
}

// begin returns the offset in the text at which the oldest segment that still has its name begins.
func (r *recording) begin() (at int) {
	oldest := ^uint64(0)
	if dir := r.disk.find(stream); dir != nil {
		for name := range dir.after(len(dir.entries)) {
			if info, ok := segment.ParseName(name); ok {
				oldest = min(oldest, info.Seq)
			}
		}
	}
	for name, size := range r.sizes {
		if info, _ := segment.ParseName(name); info.Seq < oldest {
			at += size
		}
	}
	return at
}

// differs describes how the disk, with every change applied, differs from a directory. A difference means that the
// trace lacks a call, or that the model misinterprets one.
func (r *recording) differs(dir string) string {
	o := openOf(r.disk)
	left := o.state(o.extremes()[1]).files
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if f, ok := left[name]; !ok || !bytes.Equal(f.data, data) {
			return fmt.Errorf("%s has %d bytes; in the model it has %d (it exists there: %t)", name, len(data), len(f.data), ok)
		}
		delete(left, name)
		return nil
	})
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("the model has further files: %v", slices.Sorted(maps.Keys(left)))
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
