package tail

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/format"
)

// Stats is how a source stands.
type Stats struct {
	// Streams are those that have files, with the largest backlog first, at most
	// 200 of them; Omitted is how many more there are.
	Streams []StreamStats
	Omitted int

	Refused map[string]struct{} // streams with files that the destination refuses
	Ignored map[string]int      // entries that the last scan left alone, by reason

	// Reclaim is which mode is in effect for the files held now, for a human:
	// "punch", "unlink" or "none", or "punch for 3 of 5 files".
	Reclaim string
}

// StreamStats is one stream as it stands.
type StreamStats struct {
	Name    string
	Files   int    // held open
	Backlog int64  // bytes
	Format  string // of the last header; empty: none was read
}

// maxStats bounds how many streams Stats lists.
const maxStats = 200

func statsOf(c *contents, l *listing) Stats {
	s := Stats{Reclaim: reclaimMode(c), Ignored: maps.Clone(l.ignored)}
	for name, st := range c.streams.byName {
		stat := StreamStats{Name: st.name}
		if f := st.class.Format(); f != format.Auto {
			stat.Format = f.String()
		}
		for _, f := range st.files {
			if f.held() {
				stat.Files++
			}
			stat.Backlog += f.backlog()
		}
		s.Streams = append(s.Streams, stat)
		if _, refused := c.streams.refused[name]; refused {
			if s.Refused == nil {
				s.Refused = map[string]struct{}{}
			}
			s.Refused[name] = struct{}{}
		}
	}
	slices.SortFunc(s.Streams, func(a, b StreamStats) int {
		if a.Backlog != b.Backlog {
			return int(max(-1, min(1, b.Backlog-a.Backlog)))
		}
		return strings.Compare(a.Name, b.Name)
	})
	listed := min(len(s.Streams), maxStats)
	s.Streams, s.Omitted = s.Streams[:listed], len(s.Streams)-listed
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
