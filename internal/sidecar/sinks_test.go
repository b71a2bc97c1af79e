package sidecar

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/address"
)

// If a sink takes whole segments, segments are sealed at the age in --upload-age, even if that is
// longer than the age in a sidecar without such a sink. A scheme may be in upper case.
func TestSegmentsHaveTheAgeOfTheirUpload(t *testing.T) {
	usual := DefaultConfig().Ship.Segment.SegmentAge
	for _, c := range []struct {
		whole        bool
		url          string
		upload, want time.Duration
	}{{true, "test:", time.Minute, time.Minute}, {true, "TEST:", time.Minute, time.Minute}, {true, "test:", 24 * time.Hour, 24 * time.Hour},
		{true, "test:", 0, usual}, {false, "test:", time.Minute, usual}} {
		cfg := DefaultConfig()
		cfg.SinkKinds = map[string]sink.Kind{"test": {Segments: c.whole, Open: func(sink.Target) (sink.Sink, error) { return nil, nil }}}
		cfg.Sinks.URLs, cfg.Sinks.UploadAge = address.URLs{c.url}, c.upload
		cfg.complete()
		if got := cfg.Ship.Segment.SegmentAge; got != c.want {
			t.Errorf("--sink %s of whole segments %t, --upload-age %s: sealed after %s, want %s", c.url, c.whole, c.upload, got, c.want)
		}
	}
}

// counting is a sink that counts lines.
type counting struct{ lines int }

func (c *counting) Deliver(_ context.Context, b *sink.Batch) error {
	c.lines += len(b.Lines)
	return nil
}

func (c *counting) Close() error { return nil }

// A sidecar that is asked to end before it has opened the source drains all the same, and its sinks get the lines.
func TestSinksGetWhatADrainShips(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Ship.Tail.Source, cfg.Ship.Dest, cfg.Admin.Listen = t.TempDir(), t.TempDir(), "127.0.0.1:0"
	got := &counting{}
	cfg.SinkKinds = map[string]sink.Kind{"test": {Open: func(of sink.Target) (sink.Sink, error) { return got, of.Options.Done() }}}
	cfg.Sinks.URLs = address.URLs{"test://there"}
	if err := os.WriteFile(filepath.Join(cfg.Ship.Tail.Source, "gc.log"), []byte("[0.1s][info][gc] one\n[0.2s][info][gc] two\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	asked, ask := context.WithCancel(t.Context())
	ask()
	if err := Run(asked, cfg, build.Info{}, nil, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if got.lines < 2 {
		t.Errorf("the sink got %d lines, want the 2 of the log, and marks", got.lines)
	}
}
