package tail

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// steps lists the steps of a model, one letter each; see step.
const steps = "pwWLrRtczk"

// FuzzFollow drives a writer that splits, rotates and truncates, and a reader that commits,
// rewinds and restarts. The input gives the order. In the end, each written line must have
// been read once, in order.
func FuzzFollow(f *testing.F) {
	for _, story := range []string{"wwrwtwRwcwWwrwkwzw", "wprpwRwwpRwkprwptw", "LrkLcLRwkw", "wRwRwRwRcrzkrw"} {
		var ops []byte
		for _, op := range story {
			ops = append(ops, byte(strings.IndexRune(steps, op)))
		}
		f.Add(ops)
	}
	f.Fuzz(func(t *testing.T, ops []byte) {
		if len(ops) > 64 {
			t.Skip("longer inputs find nothing else")
		}
		m := newModel(t)
		for _, op := range ops {
			m.step(steps[int(op)%len(steps)])
		}
		m.finish()
	})
}

// model is a rig and the lines that it must read.
type model struct {
	*rig
	file      *strings.Builder // the content written to the stream so far
	w         *os.File
	lines     int
	archives  int
	committed int // bytes of the stream's copy that a restart keeps
}

func newModel(t *testing.T) *model {
	m := &model{rig: newRig(t, func(c *Config) { c.LineLimit = 5000 }), file: &strings.Builder{}}
	m.w = m.writer("gc.log")
	m.got["gc.log"] = &strings.Builder{}
	return m
}

func (m *model) step(op byte) {
	switch op {
	case 'p': // a part of a line, different each time: if the same bytes were written again,
		// no reader could tell that the file was truncated
		m.lines++
		m.append(fmt.Sprintf("part %d ", m.lines))
	case 'w': // a line
		m.lines++
		m.append(fmt.Sprintf("line %d\n", m.lines))
	case 'W': // many lines
		for range 300 {
			m.step('w')
		}
	case 'L': // a line over the limit
		m.append(strings.Repeat("long ", 4000))
		m.step('w')
	case 'r':
		m.read()
	case 'R': // a rotation, after which the reader sees the new file; no archive is overwritten,
		// since a restart cannot know what an overwritten archive held
		m.endLine()
		m.archives++
		m.w = m.rotate(m.w, "gc.log", fmt.Sprintf("gc.log.%d", m.archives))
		m.src.listing.stale = true
		m.src.Scanner.Scan()
	case 't': // a truncation after everything was read
		m.endLine()
		m.read()
		m.commitAll()
		if err := m.w.Truncate(0); err != nil {
			m.t.Fatal(err)
		}
	case 'c':
		m.commitAll()
	case 'z': // a failure of the destination
		m.src.Start.Rewind()
		m.keepCommitted()
	case 'k': // kill -9 and restart
		m.restart()
		m.keepCommitted()
	}
}

func (m *model) append(text string) {
	m.write(m.w, text)
	m.file.WriteString(text)
}

// endLine ends a line that is open: a JVM never splits a message across files.
func (m *model) endLine() {
	if s := m.file.String(); s != "" && !strings.HasSuffix(s, "\n") {
		m.append("end\n")
	}
}

func (m *model) finish() {
	m.w.Close()
	for range 6 {
		m.read()
		m.commitAll()
	}
	want := m.file.String()
	if want != "" && !strings.HasSuffix(want, "\n") {
		want += "\n"
	}
	m.want("gc.log", want)
	if names := m.names(); len(names) != 0 {
		m.t.Fatalf("these files should be gone: %v", names)
	}
}

func (m *model) commitAll() {
	m.committed = m.got["gc.log"].Len()
	m.commit()
}

// keepCommitted cuts the copy as a restart cuts the segments to their mark.
func (m *model) keepCommitted() {
	kept := m.got["gc.log"].String()[:m.committed]
	m.got["gc.log"].Reset()
	m.got["gc.log"].WriteString(kept)
	clear(m.last)
}
