package ship

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ship/tail"
)

// BenchmarkReader measures the hot path of a line: tail, classify, queue. It reads a file
// with lines of 120 bytes from a tmpfs into the queue, which is emptied at once.
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
	if _, err := src.Scanner.Scan(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(120)
	b.ReportAllocs()
	b.ResetTimer()
	for done := 0; done < b.N; {
		n, c, ok := src.Reader.Next(l.queue.Reserve(cfg.Tail.LineLimit + tail.AreaSlack))
		if !ok {
			src.Start.Rewind() // nothing was committed, so everything is read again
			continue
		}
		l.queue.Push(n, c)
		l.queue.Release(1)
		done += n / 120
	}
}

// debugLog returns 64 MiB of a log at debug level.
func debugLog(b *testing.B) string {
	b.Helper()
	sample, err := os.ReadFile(filepath.Join("..", "line", "pause", "testdata", "debug-g1-jdk25.log"))
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
	return string(text)
}

// BenchmarkCatchUp ships 64 MiB of a log at debug level when the destination is back. The
// lines come from the source file, or from the spool, whose frames are passed on unchanged.
func BenchmarkCatchUp(b *testing.B) {
	text := debugLog(b)
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
				rig.write(rig.log("gc.log"), text)
				s, from := rig.begun(true)
				s.begins(b, from)
				s.src.Tick()
				if _, err := s.src.Scanner.Scan(); err != nil {
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

// BenchmarkHindsight ships 64 MiB of a log at debug level in three ways: all lines are
// persisted; the lines below info are held in hindsight; the held lines are also saved. It
// prints how much the destination stores.
func BenchmarkHindsight(b *testing.B) {
	text := debugLog(b)
	for _, c := range []struct {
		name  string
		level ul.Level
		save  bool
	}{{"persisted", ul.Trace, false}, {"held", ul.Info, false}, {"saved", ul.Info, true}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			stored, used := int64(0), time.Duration(0)
			for b.Loop() {
				b.StopTimer()
				rig := newBench(b)
				rig.cfg.Budget, rig.cfg.PersistLevel = 0, c.level
				rig.write(rig.log("gc.log"), text)
				s, from := rig.begun(true)
				s.begins(b, from)
				s.src.Tick()
				if c.save {
					_, _ = s.Save()
				}
				began := cpuTime(b)
				b.StartTimer()
				for s.reader.round(); s.link.queue.Bytes() > 0; s.reader.round() {
					s.appends(b)
					s.commits(b)
					if _, err := s.writer.saveHeld(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				b.StopTimer()
				s.commits(b)
				used += cpuTime(b) - began
				stored = 0
				for _, stream := range []string{"gc.log", detailStream} {
					infos, _ := segment.List(filepath.Join(rig.cfg.Dest, stream)) // there are no segments if nothing was saved
					for _, info := range infos {
						stored += info.Size
					}
				}
				s.killed()
				b.StartTimer()
			}
			b.ReportMetric(float64(stored)/(1<<20), "MiB-stored")
			b.ReportMetric(used.Seconds()*1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// cpuTime returns the CPU time of this process.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
