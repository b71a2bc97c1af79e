package tail

import (
	"fmt"
	"maps"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/ship/source"
)

// Stats is the state of a source.
type Stats struct {
	// Streams are the streams that have files, the largest backlog first. There are at most
	// [admin.MaxStreams] of them; Omitted is the number of further streams.
	Streams []admin.Stream
	Omitted int

	// Unpersisted covers all streams except the stream of marks, as of At.
	Unpersisted admin.Unpersisted
	At          time.Time

	Gone    map[string]struct{} // refused streams for which a later scan found no file
	Ignored map[string]int64    // entries that the last scan did not follow, by reason

	// Reclaim is the mode in effect for the files that are held now, in human-readable form:
	// "punch", "unlink" or "none", or "punch for 3 of 5 files, else unlink".
	Reclaim string

	// Stranger is the user who created a source file, if its memory cannot be freed or its
	// JVM cannot be attached to because the sidecar runs as another user. Nil if there is none.
	Stranger *kernel.User
}

func statsOf(e *env, c *source.Table, l *listing, limits *Capacity, now time.Time) Stats {
	s := Stats{Reclaim: reclaimMode(c, e.cfg.Reclaim), Ignored: maps.Clone(l.ignored), Gone: limits.gone(), Stranger: strangerOf(c, l), Unpersisted: unpersistedLogs(c, l, now), At: now}
	e.metrics.strangers.Set(0)
	if s.Stranger != nil {
		e.metrics.strangers.Set(1)
	}
	all := c.Streams.Rank()
	listed := min(len(all), admin.MaxStreams)
	s.Streams, s.Omitted = make([]admin.Stream, 0, listed), len(all)-listed
	for _, st := range all[:listed] {
		s.Streams = append(s.Streams, streamStats(st, now))
	}
	return s
}

// strangerOf returns the user who created source files that the sidecar cannot treat as its
// own. If there are several such users, it always returns the same user.
func strangerOf(c *source.Table, l *listing) *kernel.User {
	by := l.denied
	for _, f := range c.Held {
		if u := f.Inode.Stranger; u != nil && (by == nil || u.UID < by.UID) {
			by = u
		}
	}
	return by
}

func streamStats(st source.Ranked, now time.Time) admin.Stream {
	s := admin.Stream{Name: st.Name, Kind: string(naming.KindOf(st.Name)), BacklogBytes: st.Backlog, Unpersisted: st.Unpersisted(now)}
	if f := st.Class.Format(); f != format.Auto {
		s.Format = f.String()
	}
	for _, f := range st.Files {
		if f.Held() {
			s.Files++
		}
	}
	return s
}

func reclaimMode(c *source.Table, asked Mode) string {
	if asked != ReclaimAuto && asked != ReclaimPunch {
		return string(asked)
	}
	punchable := 0
	for _, f := range c.Held {
		if f.Inode.Punchable {
			punchable++
		}
	}
	switch punchable {
	case len(c.Held):
		return string(ReclaimPunch)
	case 0:
		return string(ReclaimUnlink)
	}
	return fmt.Sprintf("punch for %d of %d files, else unlink", punchable, len(c.Held))
}

// unpersistedLogs returns how much of all streams is not durable yet. It leaves out marks,
// which are not lines of a JVM. Of files that wait for a descriptor, only the start of the wait is known.
func unpersistedLogs(c *source.Table, l *listing, now time.Time) (u admin.Unpersisted) {
	switch {
	case !l.crowded():
		l.awaited = time.Time{}
	case l.awaited.IsZero():
		l.awaited = now
	}
	u.Since = l.awaited
	for name, st := range c.Streams.ByName {
		if name != mark.Stream {
			u.Add(st.Unpersisted(now))
		}
	}
	return u
}
