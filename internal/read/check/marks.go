package check

import (
	"context"
	"path/filepath"
	"strconv"

	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment/owner"
)

// Bounds on the marks that are kept in memory: any process with access to the destination may write
// marks.
const (
	maxKinds   = 64
	maxStreams = 4096
)

// marks holds the marks of a destination that are in the window.
type marks struct {
	cfg      Config
	wants    func(stream string) bool
	all      map[mark.Kind]uint64
	warnings map[mark.Kind]uint64 // the marks that are warnings
	missed   map[string]uint64    // missed archives, by stream
	cut      map[string]uint64    // truncations, by stream
	damaged  bool                 // some marks could not be read
}

// readMarks reads the marks of a destination, if it has any. If dir is the directory of a stream, they are the marks in
// the destination above it that concern that stream.
func readMarks(ctx context.Context, dir string, cfg Config) (*marks, error) {
	dest, stream, ok := owner.Of(dir)
	if ok {
		dir = dest.Dir()
	}
	m := &marks{cfg: cfg, wants: cfg.wants(stream), all: map[mark.Kind]uint64{}, warnings: map[mark.Kind]uint64{}, missed: map[string]uint64{}, cut: map[string]uint64{}}
	s := newStream(mark.Stream, filepath.Join(dir, mark.Stream), cfg, m)
	s.take = func(head, _ []byte) { m.line(head) }
	return m, s.check(ctx)
}

// Lack implements [Receiver].
func (m *marks) Lack(owner.Lack) error { return nil }

// Run implements [Receiver].
func (m *marks) Run(Run) error { return nil }

// Stream implements [Receiver].
func (m *marks) Stream(s Stream) error {
	m.damaged = s.DamagedBytes > 0 || s.Unreadable > 0 || s.Missing > 0
	return nil
}

// line counts a mark.
func (m *marks) line(head []byte) {
	a, ok := mark.Parse(head)
	if !ok || !m.cfg.window().Has(a.Time) || !a.Concerns(m.wants) {
		return
	}
	add(m.all, a.Kind, 1, maxKinds)
	if a.Level == ul.Warning {
		add(m.warnings, a.Kind, 1, maxKinds)
	}
	switch a.Kind {
	case mark.ArchivesMissed:
		count, err := strconv.ParseUint(a.Get("count"), 10, 16)
		if err != nil {
			count = 1
		}
		add(m.missed, a.Get("stream"), count, maxStreams)
	case mark.Truncated:
		add(m.cut, a.Get("stream"), 1, maxStreams)
	}
}

func add[K comparable](counts map[K]uint64, key K, n uint64, most int) {
	if _, known := counts[key]; known || len(counts) < most {
		counts[key] += n
	}
}
