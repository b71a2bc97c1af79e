package ship

import (
	"context"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ship/checkpoint"
)

// announcer shows the followers what the checkpoint has: a restart cuts off nothing
// before these marks.
type announcer struct {
	to    Outlets
	check *checkpoint.Checkpoint
	began bool
}

// begin announces every stream of the checkpoint.
func (a *announcer) begin() {
	if a.to.Followers.OnCommit == nil {
		return
	}
	a.began = true
	a.check.TakeMarks()
	marks := map[string]segment.Mark{}
	for _, name := range a.check.Streams() {
		if mark, ok := a.check.Mark(name); ok {
			marks[name] = mark
		}
	}
	a.to.Followers.OnCommit(marks, nil)
}

// saved announces the marks that the checkpoint did not have before. One is that of a
// stream that was placed and has nothing committed: from then on it may grow.
func (a *announcer) saved() {
	marks := a.check.TakeMarks() // also where nobody follows: they would pile up
	if a.began {
		a.to.Followers.OnCommit(marks, nil)
	}
}

// ended announces streams to whose segments nothing will be appended.
func (a *announcer) ended(streams []string) {
	if a.began && len(streams) > 0 {
		a.to.Followers.OnCommit(nil, streams)
	}
}

// commitSeals makes the checkpoint say which segments were sealed without a commit: by
// age, or at the end. A segment whose seal is not in the checkpoint may grow again after
// a restart.
func (w *writer) commitSeals(ctx context.Context) error {
	sealed := 0
	for _, name := range w.check.Streams() {
		mark, ok := w.check.Mark(name)
		if is := w.store.Stream(name).Mark(); ok && is.Sealed && !mark.Sealed && is.Segment == mark.Segment && is.Offset == mark.Offset {
			sealed++
			w.check.SetMark(name, is)
			if st := w.streams[name]; st != nil {
				st.sealed(w.follow.to.Followers.OnSeal)
			}
		}
	}
	if sealed == 0 {
		return nil
	}
	return w.saveCheckpoint(ctx)
}
