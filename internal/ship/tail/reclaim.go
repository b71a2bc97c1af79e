package tail

import (
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/naming"
)

// A reclaimer gives back the memory of what is committed: pages of files that are
// still written, and whole files that are finished.
type reclaimer struct {
	*env
	dir      *directory
	contents *contents
	listing  *listing
	spool    *spooler
	punch    puncher
	unlink   *unlinker
}

// reclaim looks at each file that is held.
func (r *reclaimer) reclaim() {
	for _, f := range r.contents.held {
		if r.cfg.reclaims(f.name) {
			r.punch.committed(f)
		}
		// Who is most likely written to is asked about once in a tick only, if
		// nobody waits for it.
		due := r.listing.crowded() || f.quiet || f.name == "" || f.stream.superseded(f) || r.contents.draining
		f.quiet = false
		if due && f.caughtUp() {
			r.finish(f)
		}
	}
	r.countFiles(r.contents)
	r.spool.closeUnused(r.contents.files)
}

// committed records that everything up to the end of c is durable.
func (r *reclaimer) committed(c Chunk) {
	if c.File.committed.Offset == 0 && c.End.Offset > 0 {
		r.begun(c.File)
	}
	r.contents.commit(c.File, c.End, c.number)
}

// begun counts a report of a crash once its first bytes are durable. From then on the
// checkpoint has a position in it, so that no restart counts it again.
func (r *reclaimer) begun(f *File) {
	if naming.KindOf(f.stream.name) != naming.KindCrash {
		return
	}
	r.metrics.crashes.Inc()
	r.mark(mark.CrashReport, "stream", f.stream.name)
	if r.log.notTooOften(&r.log.crashed, r.now()) {
		r.log.Warn("a JVM has crashed", "stream", f.stream.name,
			"hint", "ullage cat --stream prints its report; further crashes of this minute are only counted")
	}
}

// makeRoom closes finished files for which the scan has found no other name,
// if others wait for that, and makes the next scan due.
func (r *reclaimer) makeRoom() {
	if !r.listing.crowded() || r.listing.stale {
		return
	}
	held := len(r.contents.held)
	for _, f := range r.contents.held {
		if f.name == "" && f.caughtUp() {
			r.finish(f)
		}
	}
	if len(r.contents.held) < held {
		r.listing.expire()
	}
}

// finish closes a file of which everything is committed, if no process writes to
// it any more. A file that has a name loses the name first and is closed by a
// later call, because a process may have opened it just before. A file that still
// has a name elsewhere may come back, so its position waits.
func (r *reclaimer) finish(f *File) {
	if !f.writerless(r.now()) {
		return
	}
	size, links, err := f.inode.stat()
	if err != nil {
		return
	}
	if f.changed() {
		r.contents.grow(f, size, r.now()) // it grew, or was truncated and written again
		return
	}
	if links == 0 || f.name == "" && !r.listing.stale {
		if links > 0 && !r.contents.absent.full() {
			r.contents.absent.await(f.of.Identity, f.saved())
		} else {
			r.contents.letGo(f.of)
		}
		r.contents.forget(f)
		return
	}
	switch {
	case f.name == "" || !r.dir.opened():
		// It may have another name, which the scan will find.
	case r.cfg.reclaims(f.name) && !f.keepName:
		r.unlink.unlink(f)
	case r.listing.crowded():
		r.setAside(f)
	}
}

// setAside closes a finished file that keeps its name. Without room to remember
// it, the file stays held: otherwise it would be read again.
func (r *reclaimer) setAside(f *File) {
	var st unix.Statx_t
	absent := &r.contents.absent
	if absent.full() || statx(f.inode.fd, "", unix.AT_EMPTY_PATH, &st) != nil || int64(st.Size) != f.size {
		return
	}
	absent.setAside(f.of.Identity, f.saved(), &st)
	r.contents.forget(f)
	r.listing.expire()
}
