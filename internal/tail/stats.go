package tail

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/position"
)

// Usage is what the source and its files occupy, in bytes.
type Usage struct {
	Backlog  int64 // written and not committed
	Spooled  int64 // ... of it, lines that were moved into the spool
	Total    int64 // size of the file system
	Headroom int64 // free in it
	Tmpfs    bool
}

// Usage asks the kernel. Everything but Backlog is zero while the directory
// is missing.
func (s *Source) Usage() Usage {
	var u Usage
	for _, f := range s.files {
		u.Backlog += f.backlog()
		u.Spooled += f.records.bytes - f.records.lost
	}
	var st unix.Statfs_t
	if s.dir.opened() && unix.Fstatfs(s.dir.fd(), &st) == nil {
		u.Total = int64(st.Blocks) * st.Bsize
		u.Headroom = int64(st.Bavail) * st.Bsize
		u.Tmpfs = st.Type == unix.TMPFS_MAGIC
	}
	return u
}

// backlog leaves out what was dropped: it is not there any more.
func (f *File) backlog() int64 {
	if !f.held() {
		return f.records.bytes - f.records.lost
	}
	return max(0, f.size-f.committed.Offset-f.records.lost)
}

// Weight is what the source takes.
type Weight struct {
	Memory  int64 // of the files and of the spool, bytes
	Length  int64 // of the files
	Streams int   // that have more than a few pages of the memory
}

// fewPages is the memory of a stream that hardly counts.
const fewPages = 4 * position.PageSize

// Weigh asks the kernel. Move and Drop go by what it has found.
func (s *Source) Weigh() (w Weight) {
	for _, st := range s.streams.byName {
		st.memory = 0
		for _, f := range st.files {
			m, l := f.resident()
			w.Memory, w.Length = w.Memory+m, w.Length+l
			if l > f.size {
				s.grow(f, l)
			}
			st.memory += m + f.records.memory()
		}
		for _, f := range st.found {
			m, l := f.resident()
			w.Memory, w.Length = w.Memory+m, w.Length+l
		}
		if st.memory > fewPages {
			w.Streams++
		}
	}
	w.Memory += s.spool.memory()
	return w
}

// resident asks the kernel how much memory the file takes, and how long it is.
func (f *File) resident() (memory, length int64) {
	var st unix.Stat_t
	if !f.held() || unix.Fstat(f.fd, &st) != nil {
		return 0, 0
	}
	return st.Blocks * 512, st.Size
}

// StreamStats is one stream as it stands.
type StreamStats struct {
	Name    string
	Files   int   // held open
	Backlog int64 // bytes
}

// maxStats bounds how many streams Streams lists.
const maxStats = 200

// Streams lists the streams that have files, those with the largest backlog
// first, at most 200 of them, and says how many more there are.
func (s *Source) Streams() (stats []StreamStats, omitted int) {
	for _, st := range s.streams.byName {
		stat := StreamStats{Name: st.name}
		for _, f := range st.files {
			if f.held() {
				stat.Files++
			}
			stat.Backlog += f.backlog()
		}
		stats = append(stats, stat)
	}
	slices.SortFunc(stats, func(a, b StreamStats) int {
		if a.Backlog != b.Backlog {
			return int(max(-1, min(1, b.Backlog-a.Backlog)))
		}
		return strings.Compare(a.Name, b.Name)
	})
	listed := min(len(stats), maxStats)
	return stats[:listed], len(stats) - listed
}

// Ignored counts the entries that the last scan left alone, by reason.
func (s *Source) Ignored() map[string]int { return maps.Clone(s.listing.ignored) }

// ReclaimMode says which mode is in effect for the files held now, for a
// human: "punch", "unlink" or "none", or "punch for 3 of 5 files".
func (s *Source) ReclaimMode() string {
	if s.cfg.Reclaim != ReclaimAuto && s.cfg.Reclaim != ReclaimPunch {
		return string(s.cfg.Reclaim)
	}
	punchable := 0
	for _, f := range s.held {
		if f.punchable {
			punchable++
		}
	}
	switch punchable {
	case len(s.held):
		return string(ReclaimPunch)
	case 0:
		return string(ReclaimUnlink)
	}
	return fmt.Sprintf("punch for %d of %d files, else unlink", punchable, len(s.held))
}
