package ship

import (
	"context"

	"github.com/ullage/ullage/internal/checkpoint"
	"github.com/ullage/ullage/internal/segment"
)

// announce shows the followers how far streams are committed, and which have ended. The
// checkpoint has these marks: a restart cuts off nothing before them.
func (f Followers) announce(marks map[string]segment.Mark, ended []string) {
	if f.OnCommit != nil {
		f.OnCommit(marks, ended)
	}
}

// announceAll announces every stream of the checkpoint.
func (f Followers) announceAll(check *checkpoint.Checkpoint) {
	marks := map[string]segment.Mark{}
	for _, name := range check.Streams() {
		if mark, ok := check.Mark(name); ok {
			marks[name] = mark
		}
	}
	f.announce(marks, nil)
}

// commitSeals makes the checkpoint say which segments were sealed without a commit: by
// age, or at the end. A segment whose seal is not in the checkpoint may grow again after
// a restart.
func (w *writer) commitSeals(ctx context.Context) error {
	sealed := map[string]segment.Mark{}
	for _, name := range w.check.Streams() {
		mark, ok := w.check.Mark(name)
		if is := w.store.Stream(name).Mark(); ok && is.Sealed && !mark.Sealed && is.Segment == mark.Segment && is.Offset == mark.Offset {
			sealed[name] = is
			w.check.SetMark(name, is)
		}
	}
	if len(sealed) == 0 {
		return nil
	}
	if err := w.saveCheckpoint(ctx); err != nil {
		return err
	}
	w.cfg.Followers.announce(sealed, nil)
	return nil
}
