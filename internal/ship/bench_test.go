package ship

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/tail"
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
			src.Rewind() // nothing was committed: again from the beginning
			continue
		}
		l.queue.Push(n, c)
		l.queue.Release(1)
		done += n / 120
	}
}
