package ring

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/base/untrusted"
)

const (
	maxFound   = 1024                  // the most names of rings that one listing examines
	newbornAge = 10 * time.Second      // an older unfinished ring without a writer is removed
	clockStep  = 20 * time.Millisecond // two changes of a directory within this interval may have the same timestamp
	listRest   = 10                    // the shortest pause between two listings, as a multiple of the duration of a listing
)

// changed reports whether a name was created or removed in the source since the last
// listing.
func (r *Rings) changed() bool {
	var st unix.Stat_t
	return unix.Fstat(int(r.work.source.Fd()), &st) == nil && st.Mtim != r.seen.modified
}

// list opens new rings, oldest first.
func (r *Rings) list(now time.Time) {
	began := time.Now()
	var st unix.Stat_t
	r.seen.modified, r.seen.unsettled, r.seen.asked = unix.Timespec{}, false, false
	if unix.Fstat(int(r.work.source.Fd()), &st) == nil && began.Sub(time.Unix(st.Mtim.Unix())) > clockStep {
		r.seen.modified = st.Mtim
	}
	var found []name
	eachName(r.work.source, func(file string) {
		if n, ok := parseName(file, ringSuffix); ok && r.drains[n] == nil && len(found) < maxFound {
			found = append(found, n)
		} else if strings.HasPrefix(file, "."+ringPrefix) && strings.HasSuffix(file, ringSuffix+unfinished) {
			r.seen.unsettled = true
			r.removeNewborn(file, now)
		}
	})
	if len(found) > 0 {
		r.metrics.begin()
	}
	slices.SortFunc(found, name.compare)
	before := r.refused
	r.refused = map[name]string{}
	for _, n := range found {
		if len(r.drains) >= maxRings {
			r.refuse(n, because(reasonTooMany, "%d rings are read already", maxRings), before)
			continue
		}
		d, err := openDrain(r.work, n)
		if err != nil {
			r.refuse(n, err, before)
			continue
		}
		r.drains[n] = &running{drain: d, busy: now, logged: map[string]bool{}}
		_ = r.drains[n].raise(r.raised)
	}
	if r.metrics.begun {
		r.gauge()
	}
	r.seen.after = now.Add(clockStep + listRest*time.Since(began))
}

// refuse counts a ring that is not read. Each listing tries it again.
func (r *Rings) refuse(n name, err error, before map[name]string) {
	if errors.Is(err, fs.ErrNotExist) {
		return // the ring no longer exists
	}
	reason := reasonOf(err)
	r.refused[n] = reason
	if before[n] == reason {
		return
	}
	r.metrics.errors.WithLabelValues(reason).Inc()
	if !r.logged[reason] {
		r.logged[reason] = true
		// messages.md#events: A file with the name of a ring is not a ring, or may not be read;
		// `reason` is explained in [events.md](events.md#files). Further rings with the same reason
		// are only counted.
		r.log.Warn("event ring is ignored", "ring", n.ring(), "reason", reason, "error", err,
			"hint", "further rings with this reason are only counted")
	}
}

// eachName calls each for every name in a directory, however many names there are.
func eachName(dir *os.File, each func(string)) {
	if _, err := dir.Seek(0, io.SeekStart); err != nil {
		return
	}
	_ = untrusted.EachEntry(dir.Readdirnames, func(name string) error { each(name); return nil })
}

// removeNewborn removes the unfinished ring of a JVM that was killed before the ring was complete.
func (r *Rings) removeNewborn(file string, now time.Time) {
	f, err := statedir.OpenFile(r.work.source, file, unix.O_RDONLY)
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || now.Sub(info.ModTime()) < newbornAge {
		return
	}
	if is, _ := unwritten(int(f.Fd())); is {
		_ = unix.Unlinkat(int(r.work.source.Fd()), file, 0)
	}
}

// removeJournals removes journals whose ring no longer exists: their texts are complete.
func (r *Rings) removeJournals() {
	eachName(r.work.state, func(file string) {
		n, ok := parseName(file, journalSuffix)
		if !ok {
			return
		}
		var st unix.Stat_t
		if unix.Fstatat(int(r.work.source.Fd()), n.ring(), &st, unix.AT_SYMLINK_NOFOLLOW) == unix.ENOENT {
			_ = unix.Unlinkat(int(r.work.state.Fd()), file, 0)
		}
	})
}
