package tail

import (
	"time"

	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/ship/source"
)

const (
	blockBytes = 256 << 10 // bytes of one read, and of one punch
	scanRest   = 4         // the shortest pause after a scan, as a multiple of the lesser of its duration and CPU time
)

// env is shared by all parts of a Source.
type env struct {
	cfg     Config
	to      Outlets
	log     notes
	metrics metrics
	now     func() time.Time
}

// mark reports an event as a mark.
func (e *env) mark(kind mark.Kind, details ...string) {
	if e.to.Mark != nil {
		e.to.Mark(mark.New(kind, details...))
	}
}

// add adds a file's content, which belongs to the named stream. If the stream is new, add also creates its series.
func (e *env) add(c *source.Table, f *source.File, stream string) (fresh bool) {
	if fresh = c.Add(f, stream); fresh {
		e.metrics.appear(f.Stream.Label)
	}
	return fresh
}

// countFiles counts the files that are held.
func (e *env) countFiles(c *source.Table) { e.metrics.files.Set(float64(len(c.Held))) }
