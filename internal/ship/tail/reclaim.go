package tail

import (
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/source"
)

// A Reclaimer frees the memory of committed bytes: pages of files that are still being
// written, and whole files that are finished.
type Reclaimer struct {
	*env
	dir     *directory
	table   *source.Table
	listing *listing
	spool   *spooler
	punch   puncher
	unlink  *unlinker
}

// Reclaim frees committed bytes: pages of files that are still being written, and whole
// files that are finished. It returns the contents that the checkpoint no longer needs,
// collected since the last call. It also returns the positions of files that came back,
// which the checkpoint may have forgotten.
func (r *Reclaimer) Reclaim() (gone []position.Content, back map[position.Content]position.Saved) {
	for _, f := range r.table.Held {
		if r.cfg.reclaims(f.Entry.Name) {
			r.punch.committed(f)
		}
		// A file that most likely still has a writer is checked only once a tick, unless
		// something waits for it.
		due := r.listing.crowded() || f.Growth.Quiet || f.Entry.Name == "" || f.Stream.Superseded(f) || r.table.Draining
		f.Growth.Quiet = false
		if due && f.CaughtUp() {
			r.finish(f)
		}
	}
	r.countFiles(r.table)
	r.spool.closeUnused(r.table.Files)
	return r.table.TakeGone(), r.table.TakeBack()
}

// Committed records that everything up to the end of c is durable.
func (r *Reclaimer) Committed(c Chunk) {
	if c.File.is.Committed.Offset == 0 && c.End.Offset > 0 {
		r.begun(c.File.is)
	}
	r.table.Commit(c.File.is, c.End, c.number)
}

// begun counts a crash report once its first bytes are durable. The checkpoint then has a
// position in the report, so that no restart counts it again.
func (r *Reclaimer) begun(f *source.File) {
	if naming.KindOf(f.Stream.Name) != naming.KindCrash {
		return
	}
	r.metrics.crashes.Inc()
	r.mark(mark.CrashReport, "stream", f.Stream.Name)
	if r.log.crashed.Allow(r.now()) {
		// messages.md#the-jvms: `stream` names the crash report. See [After a
		// crash](read-logs.md#after-a-crash). Logged at most once a minute.
		r.log.Warn("a JVM has crashed", "stream", f.Stream.Name,
			"hint", "ullage logs --stream prints the crash report; further crashes within a minute are only counted")
	}
}

// If other files wait for a descriptor, makeRoom closes finished files for which the scan has
// found no other name. It then makes the next scan due.
func (r *Reclaimer) makeRoom() {
	if !r.listing.crowded() || r.listing.stale {
		return
	}
	held := len(r.table.Held)
	for _, f := range r.table.Held {
		if f.Entry.Name == "" && f.CaughtUp() {
			r.finish(f)
		}
	}
	if len(r.table.Held) < held {
		r.listing.expire()
	}
}

// finish closes a fully committed file if no process writes to it any more. If the file has a
// name, this call removes the name, and a later call closes the file, because a process may
// have opened it just before. If the file still has a name elsewhere, it may come back, so its
// position waits.
func (r *Reclaimer) finish(f *source.File) {
	if !f.Writerless(r.now()) {
		return
	}
	size, links, err := f.Inode.Stat()
	if err != nil {
		return
	}
	if f.Changed() {
		r.table.Grow(f, size, r.now()) // the file grew, or was truncated and written again
		return
	}
	if links == 0 || f.Entry.Name == "" && !r.listing.stale {
		if links > 0 && !r.table.Absent.Full() {
			r.table.Absent.Await(f.Of.Identity, f.Saved())
		} else {
			r.table.LetGo(f.Of)
		}
		r.table.Forget(f)
		return
	}
	switch {
	case f.Entry.Name == "" || !r.dir.opened():
		// The file may have another name, which the scan will find.
	case r.cfg.reclaims(f.Entry.Name) && !f.Entry.KeepName:
		r.unlink.unlink(f)
	case r.listing.crowded():
		r.setAside(f)
	}
}

// setAside closes a finished file that keeps its name. If there is no room to keep the
// position, the file stays held: otherwise it would be read again.
func (r *Reclaimer) setAside(f *source.File) {
	var st unix.Statx_t
	absent := &r.table.Absent
	if absent.Full() || statx(f.Inode.FD, "", unix.AT_EMPTY_PATH, &st) != nil || int64(st.Size) != f.Growth.Size {
		return
	}
	absent.SetAside(f.Of.Identity, f.Saved(), &st)
	r.table.Forget(f)
	r.listing.expire()
}
