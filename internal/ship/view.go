package ship

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/ship/tail"
)

// view is the state of the source that the reader shows to other parts. It holds copies, so
// that no other part accesses the source.
type view struct {
	mu        sync.Mutex
	sourceErr error
	restored  bool // the destination has confirmed the checkpoint, or the reader began again
	claims    bool // see [tail.Start.Claims]
	budget    int64
	dropping  string
	usage     tail.Usage
	used      int64 // bytes of the budget
	source    tail.Stats

	turn chan struct{} // closed once no other sidecar owns the source
	once sync.Once
}

// myTurn records that no other sidecar owns the source.
func (v *view) myTurn() { v.once.Do(func() { close(v.turn) }) }

func (v *view) setSource(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sourceErr = err
}

func (v *view) setBudget(bytes int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.budget = bytes
}

func (v *view) setDropping(reason string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.dropping = reason
}

func (v *view) setRestored() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.restored = true
}

func (v *view) isRestored() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.restored
}

func (v *view) update(src *tail.Source) {
	usage, used, source, claims := src.Relief.Usage(), src.Relief.Memory(), src.Stats(), src.Start.Claims()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.usage, v.used, v.source, v.claims = usage, used, source, claims
}

// show sets the fields of a status that come from the view.
func (v *view) show(st *admin.Status) {
	v.mu.Lock()
	defer v.mu.Unlock()
	st.BacklogBytes, st.SpooledBytes, st.HeadroomBytes = v.usage.Backlog, v.usage.Spooled, v.usage.Headroom
	st.BudgetBytes, st.BudgetUsedBytes, st.Dropping = v.budget, v.used, v.dropping
	st.Ignored, st.Unpersisted, st.SeenAt = v.source.Ignored, v.source.Unpersisted, v.source.At
	st.Reclaim = admin.Reclaim{Mode: v.source.Reclaim}
	if u := v.source.Stranger; u != nil {
		st.JVMUser = &admin.JVMUser{UID: u.UID, Advice: u.Advice()}
		if !u.GroupHidden {
			st.JVMUser.GID = &u.GID
		}
		if v.source.Reclaim != string(tail.ReclaimPunch) {
			st.Reclaim.Why = st.JVMUser.Advice
		}
	}
	st.Streams = append([]admin.Stream{}, v.source.Streams...) // JSON must have a list, even an empty one
	st.StreamsOmitted = v.source.Omitted
}

// unconfirmed reports whether lines of the source are durable only according to the
// checkpoint, which the destination has not confirmed.
func (v *view) unconfirmed() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return !v.restored && v.claims
}

// sawGone reports whether the reader has seen that a refused stream no longer has files. False
// may also mean that the reader has not looked yet, or does not know of the refusal yet: the
// view is up to a second old.
func (v *view) sawGone(name string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, gone := v.source.Gone[name]
	return gone
}

var errNotRestored = errors.New("finding where the last run ended")

func (v *view) notReady() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.sourceErr != nil:
		return v.sourceErr
	case !v.restored:
		return errNotRestored
	}
	return nil
}

// unreadable returns why nothing of the source could be read, or nil.
func (v *view) unreadable() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if errors.Is(v.sourceErr, statedir.ErrOwned) {
		return nil // the other sidecar, which owns the source, ships it
	}
	if v.sourceErr != nil && !errors.Is(v.sourceErr, fs.ErrNotExist) {
		return fmt.Errorf("nothing was read: %w", v.sourceErr)
	}
	for _, reason := range []string{tail.IgnoredPermission, tail.IgnoredTooMany, tail.IgnoredError} {
		if n := v.source.Ignored[reason]; n > 0 {
			return fmt.Errorf("%d files in the source were not read (%s)", n, reason)
		}
	}
	return nil
}
