package ship

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/tail"
	"github.com/ullage/ullage/internal/ul"
)

// BenchmarkReader is the hot path of a line: tail, classify, queue. It reads a
// file of lines of 120 bytes on tmpfs into the queue, which is emptied at once.
func BenchmarkReader(b *testing.B) {
	dir, err := os.MkdirTemp("/dev/shm", "ullage-bench-")
	if err != nil {
		b.Skip("needs a tmpfs at /dev/shm: ", err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	const perFile = 500_000
	var text strings.Builder
	for i := range perFile {
		line := fmt.Sprintf("[2026-11-20T16:45:%02d.%03d+0000][%d.%03ds][debug][gc,phases      ] GC(%d) ", i/1000%60, i%1000, i/1000, i%1000, i)
		text.WriteString(line + strings.Repeat("x", 119-len(line)) + "\n")
	}
	if err := os.WriteFile(dir+"/gc.log", []byte(text.String()), 0o644); err != nil {
		b.Fatal(err)
	}
	cfg := DefaultConfig()
	cfg.Tail.Source, cfg.Tail.LineLimit = dir, cfg.lineLimit()
	l := newLink(cfg)
	src := tail.New(cfg.Tail, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err := src.Open(); err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	if _, err := src.Scan(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(120)
	b.ReportAllocs()
	b.ResetTimer()
	for done := 0; done < b.N; {
		n, c, ok := src.Next(l.queue.Reserve(cfg.Tail.LineLimit + tail.AreaSlack))
		if !ok {
			src.Start.Rewind() // nothing was committed: again from the beginning
			continue
		}
		l.queue.Push(n, c)
		l.queue.Release(1)
		done += n / 120
	}
}

// BenchmarkCatchUp ships 64 MiB of a log at debug when the destination is back:
// from the source file, and from the spool, whose frames are passed through.
func BenchmarkCatchUp(b *testing.B) {
	sample, err := os.ReadFile(filepath.Join("..", "pause", "testdata", "debug-g1-jdk25.log"))
	if err != nil {
		b.Fatal(err)
	}
	var text []byte
	for n := 0; len(text) < 64<<20; n++ {
		for line := range bytes.Lines(sample) {
			_, rest, _ := bytes.Cut(line, []byte("]"))
			text = fmt.Appendf(text, "[%d.%03ds]%s", n, len(text)%1000, rest)
		}
	}
	for _, c := range []struct {
		name  string
		moved bool
	}{{"source", false}, {"spool", true}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				b.StopTimer()
				rig := newBench(b)
				rig.cfg.Budget = 0
				rig.write(rig.log("gc.log"), string(text))
				s, from := rig.begun(true)
				s.begins(b, from)
				s.src.Tick()
				if _, err := s.src.Scan(); err != nil {
					b.Fatal(err)
				}
				if s.src.Relief.Weigh(); c.moved {
					for s.src.Relief.Move(tail.Relief{Want: 1 << 30, Least: 1, Keep: ul.Warning}) > 0 {
					}
				}
				b.StartTimer()
				for s.reader.round(); s.link.queue.Bytes() > 0; s.reader.round() {
					s.appends(b)
					s.commits(b)
				}
				b.StopTimer()
				s.killed()
				b.StartTimer()
			}
		})
	}
}
