package ship

import (
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ship/checkpoint"
)

// announcer passes the marks of the checkpoint to the followers: a restart cuts off nothing
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

// saved announces the marks that are new in the checkpoint. A stream that was placed but has no
// commit yet also has a mark, past which it may grow.
func (a *announcer) saved() {
	marks := a.check.TakeMarks() // even without followers: otherwise, the marks would accumulate
	if a.began {
		a.to.Followers.OnCommit(marks, nil)
	}
}

// ended announces streams whose segments will not grow any more.
func (a *announcer) ended(streams []string) {
	if a.began && len(streams) > 0 {
		a.to.Followers.OnCommit(nil, streams)
	}
}
