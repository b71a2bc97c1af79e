package sidecar

import (
	"testing"
	"time"

	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/address"
)

// Where a sink takes whole segments, --upload-age is their age, also a longer one than that
// of a sidecar without such a sink.
func TestSegmentsHaveTheAgeOfTheirUpload(t *testing.T) {
	usual := DefaultConfig().Ship.Segment.SegmentAge
	for _, c := range []struct {
		whole        bool
		upload, want time.Duration
	}{{true, time.Minute, time.Minute}, {true, 24 * time.Hour, 24 * time.Hour}, {true, 0, usual}, {false, time.Minute, usual}} {
		cfg := DefaultConfig()
		cfg.SinkKinds = map[string]sink.Kind{"test": {Segments: c.whole, Open: func(sink.Target) (sink.Sink, error) { return nil, nil }}}
		cfg.Sinks.URLs, cfg.Sinks.UploadAge = address.URLs{"test:"}, c.upload
		cfg.complete()
		if got := cfg.Ship.Segment.SegmentAge; got != c.want {
			t.Errorf("whole segments %t, --upload-age %s: sealed after %s, want %s", c.whole, c.upload, got, c.want)
		}
	}
}
