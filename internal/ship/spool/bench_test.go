package spool

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
)

// logged returns one block of a JVM's log at debug, with increasing times.
func logged(b *testing.B) []byte {
	b.Helper()
	sample, err := os.ReadFile(filepath.Join("..", "..", "line", "pause", "testdata", "debug-g1-jdk25.log"))
	if err != nil {
		b.Fatal(err)
	}
	var out []byte
	for n := 0; len(out) < BlockBytes; n++ {
		for line := range bytes.Lines(sample) {
			_, rest, _ := bytes.Cut(line, []byte("]"))
			out = fmt.Appendf(out, "[%d.%03ds]%s", n, len(out)%1000, rest)
		}
	}
	out = out[:BlockBytes]
	return out[:bytes.LastIndexByte(out, '\n')+1]
}

// BenchmarkAppend moves blocks into the log and reports the share of memory
// that remains in use. Divide 50 by the MB/s to get the CPU share at 50 MB/s.
func BenchmarkAppend(b *testing.B) {
	text := logged(b)
	f, err := os.CreateTemp("/dev/shm", "spool")
	if err != nil {
		b.Fatal(err)
	}
	defer os.Remove(f.Name())
	l, _, err := Open(f)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	var class ul.Classifier
	block := &Block{}
	memory := int64(0)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		block.Begin(position.Content{Identity: position.Identity{Ino: 1}}, "gc.log", 0, text)
		for line := range bytes.Lines(text) {
			c := class.Classify(line[:len(line)-1])
			block.Take(line, c.Level, c.Level >= ul.Warning, true)
		}
		end := int64(len(text))
		block.End = position.Position{Offset: end, CheckLen: position.Span(end), Level: class.Level()}
		block.Read = time.Now()
		r, err := l.Append(block, Without{})
		if err != nil {
			b.Fatal(err)
		}
		memory = r.end() - r.at
		l.Free(r)
	}
	b.ReportMetric(float64(len(text))/float64(memory), "x-less-memory")
}

// BenchmarkRead reads a block back.
func BenchmarkRead(b *testing.B) {
	text := logged(b)
	l, _ := open(b, filepath.Join(b.TempDir(), "spool"))
	r := appended(b, l, block(0, string(text)), Without{})
	area := make([]byte, 0, len(text)+ul.MaxMarkerBytes+1)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		o := Reading{Data: area}
		if err := l.Read(&o, r); err != nil {
			b.Fatal(err)
		}
	}
}
