package check

import (
	"path/filepath"

	"github.com/ullage/ullage/internal/read"
	"github.com/ullage/ullage/internal/segment"
)

// progress counts bytes on disk.
type progress struct {
	tell        func(done, total int64) // nil: no progress is wanted
	base, total int64                   // base: of the streams that are checked
}

// newProgress looks at the sizes of all streams if progress is wanted.
func newProgress(dir string, names []string, cfg Config) *progress {
	p := &progress{tell: cfg.Progress}
	if p.tell == nil {
		return p
	}
	for _, name := range names {
		segs, _ := segment.List(filepath.Join(dir, name)) // an error is a finding of the stream
		for _, seg := range segs {
			p.total += seg.Size
		}
	}
	return p
}

// report reports how far the source of the stream that is checked is.
func (p *progress) report(at *read.Source, segs []segment.Info) {
	if p.tell != nil {
		p.tell(min(p.base+at.Done(segs), p.total), p.total)
	}
}
