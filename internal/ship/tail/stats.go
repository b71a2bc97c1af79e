package tail

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/line/format"
)

// Stats is how a source stands.
type Stats struct {
	// Streams are those that have files, with the largest backlog first, at most
	// 200 of them; Omitted is how many more there are.
	Streams []StreamStats
	Omitted int

	// Unpersisted is of all streams but that of marks, as it was at At.
	Unpersisted Unpersisted
	At          time.Time

	Gone    map[string]struct{} // refused streams of which a scan since has found no file
	Ignored map[string]int      // entries that the last scan left alone, by reason

	// Reclaim is which mode is in effect for the files held now, for a human:
	// "punch", "unlink" or "none", or "punch for 3 of 5 files".
	Reclaim string

	// Stranger is the user who created a source file, if its memory cannot be freed or its
	// JVM cannot be spoken to because the sidecar runs as another user. Nil: there is none.
	Stranger *kernel.User
}

// StreamStats is one stream as it stands.
type StreamStats struct {
	Name    string
	Files   int    // held open
	Backlog int64  // bytes
	Format  string // of the last header; empty: none was read

	Unpersisted Unpersisted
}

// maxStats bounds how many streams Stats lists.
const maxStats = 200

// ranked is a stream with its backlog.
type ranked struct {
	*Stream
	backlog int64
}

func statsOf(c *contents, l *listing, limits *capacity, now time.Time) Stats {
	s := Stats{Reclaim: reclaimMode(c), Ignored: maps.Clone(l.ignored), Gone: limits.gone(), Stranger: strangerOf(c, l), Unpersisted: unpersistedLogs(c, l, now), At: now}
	all := c.streams.rank()
	listed := min(len(all), maxStats)
	s.Streams, s.Omitted = make([]StreamStats, 0, listed), len(all)-listed
	for _, st := range all[:listed] {
		s.Streams = append(s.Streams, st.stats(st.backlog, now))
	}
	return s
}

// strangerOf returns who created source files that the sidecar cannot treat as its own, of
// several users always the same one.
func strangerOf(c *contents, l *listing) *kernel.User {
	by := l.denied
	for _, f := range c.held {
		if u := f.inode.stranger; u != nil && (by == nil || u.UID < by.UID) {
			by = u
		}
	}
	c.metrics.strangers.Set(0)
	if by != nil {
		c.metrics.strangers.Set(1)
	}
	return by
}

// rank returns the streams, those with the largest backlog first. The slice is valid until
// the next call: thousands of streams are ranked ten times a second.
func (t *streamSet) rank() []ranked {
	clear(t.ranking) // or it would keep streams alive that are gone
	t.ranking = t.ranking[:0]
	for _, st := range t.byName {
		r := ranked{Stream: st}
		for _, f := range st.files {
			r.backlog += f.backlog()
		}
		t.ranking = append(t.ranking, r)
	}
	slices.SortFunc(t.ranking, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.backlog, a.backlog), strings.Compare(a.name, b.name))
	})
	return t.ranking
}

func (st *Stream) stats(backlog int64, now time.Time) StreamStats {
	s := StreamStats{Name: st.name, Backlog: backlog, Unpersisted: st.unpersisted(now)}
	if f := st.class.Format(); f != format.Auto {
		s.Format = f.String()
	}
	for _, f := range st.files {
		if f.held() {
			s.Files++
		}
	}
	return s
}

func reclaimMode(c *contents) string {
	if c.cfg.Reclaim != ReclaimAuto && c.cfg.Reclaim != ReclaimPunch {
		return string(c.cfg.Reclaim)
	}
	punchable := 0
	for _, f := range c.held {
		if f.inode.punchable {
			punchable++
		}
	}
	switch punchable {
	case len(c.held):
		return string(ReclaimPunch)
	case 0:
		return string(ReclaimUnlink)
	}
	return fmt.Sprintf("punch for %d of %d files, else unlink", punchable, len(c.held))
}
