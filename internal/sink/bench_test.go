package sink

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/store"
)

// swallowing is an engine that takes everything.
type swallowing struct{}

func (swallowing) Deliver(context.Context, *Batch) error { return nil }
func (swallowing) Close() error                          { return nil }

// BenchmarkFeed prints how fast lines reach a sink that accepts them at once.
func BenchmarkFeed(b *testing.B) {
	var undated, dated strings.Builder
	for i := 0; dated.Len() < segment.FrameBytes-200; i++ {
		line := fmt.Sprintf("[%d.%03ds][info][gc,heap] GC(%d) Eden regions: %d->0(%d)\n", i/1000, i%1000, i, i%7, i%11)
		fmt.Fprintf(&dated, "[2026-11-20T10:00:00.%03d+0000]%s", i%1000, line)
		undated.WriteString(line)
	}
	for name, raw := range map[string]string{"dated": dated.String(), "undated": undated.String()} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			durable, err := store.Open(dir, store.DefaultConfig(), nil, nil)
			if err != nil {
				b.Fatal(err)
			}
			s := durable.Stream("gc.log")
			err = s.Resume(segment.Mark{}, 0)
			for i := 0; i < 32 && err == nil; i++ {
				if err = s.Append([]byte(raw)); err == nil {
					_, err = s.Sync()
				}
			}
			if err == nil {
				err = durable.Close()
			}
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(32 * int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if err := Feed(context.Background(), filepath.Join(dir, "gc.log"), "gc.log", swallowing{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
