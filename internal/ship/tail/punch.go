package tail

import (
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/source"
)

// A puncher frees pages of files by punching holes.
type puncher struct{ *env }

// open opens a file again for punching. The file is already open for reading.
func (p puncher) open(f *source.File) (int, error) {
	return unix.Open(kernel.NameOf(f.Inode.FD), unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
}

// allowed finds out whether holes may be punched into f. by is the user who created f. If the mode
// requires punching but that is not permitted, allowed logs it once.
func (p puncher) allowed(f *source.File, by *kernel.User) bool {
	if !p.cfg.punches(f.Entry.Name) {
		return false
	}
	fd, err := p.open(f)
	if err == unix.EMFILE || err == unix.ENFILE {
		return true // assume so until a punch fails
	}
	if err != nil {
		hint := "the file's mode forbids writing: its memory is freed only when the file is unlinked"
		if !by.IsOurs() {
			hint = by.Advice() + ": until then memory is freed only when a file is unlinked, and log levels cannot be changed"
		}
		// messages.md#the-source: Another user owns the file, or its mode forbids writing. Its
		// memory is freed only when the file is unlinked. If another user owns it, log levels
		// cannot be changed either; then `hint` says what to set: `the JVM runs as 1001:0: set
		// runAsUser: 1001, runAsGroup: 0`.
		p.log.once("no punch", "no permission to punch holes in a source file", "file", f.Entry.Name, "error", err, "hint", hint)
		return false
	}
	unix.Close(fd)
	if !p.log.warned["punch mode"] {
		p.log.warned["punch mode"] = true
		// messages.md#the-source: Logged once, when the first file may be punched.
		p.log.Info("reclaiming by punching holes", "reclaim", ReclaimPunch)
	}
	return true
}

// committed frees whole pages before the committed position, except the page of the last
// committed byte. It first checks the position again: bytes that a JVM has just written into a
// truncated file must not be freed.
func (p puncher) committed(f *source.File) {
	end := position.PageBefore(f.Committed.Offset)
	if !f.Inode.Punchable || f.Whole() || end <= f.Inode.Reclaimed || !f.Inode.Holds(f.Committed) {
		return
	}
	f.Inode.Reclaimed = p.pages(f, f.Inode.Reclaimed, end)
	f.Inode.LookWhetherHollow()
}

// pages frees the pages from at to end and returns the offset that it reached.
func (p puncher) pages(f *source.File, at, end int64) int64 {
	fd, err := p.open(f)
	if err == nil {
		defer unix.Close(fd)
		for err == nil && at < end {
			// Punch in batches, since a punch and a write of the JVM wait for each other.
			// An existing hole of any size costs one call.
			var data int64
			if data, err = f.Inode.NextData(at); err != nil || data >= end {
				if err != nil {
					err = f.Failed("look for data in", err)
				}
				at = end
				break
			}
			at = data &^ (position.PageSize - 1)
			n := min(end-at, blockBytes)
			if err = unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, n); err == nil {
				at += n
				p.metrics.reclaimed.WithLabelValues(string(ReclaimPunch)).Add(float64(n))
			}
		}
	}
	if err != nil {
		p.metrics.reclaimErrs.Inc()
		// messages.md#the-source: The memory of the file stays in use.
		p.log.once("punch", "punching a source file failed", "file", f.Entry.Name, "error", err, "hint", "its memory stays in use")
		f.Inode.Punchable = err != unix.EOPNOTSUPP && err != unix.EACCES && err != unix.EPERM
	}
	return at
}

// record frees the pages of the source file that a record replaces, if they are
// unchanged, and returns how many bytes it asked to free.
func (p puncher) record(f *source.File, r *source.Spooled) int64 {
	if !r.Full || !f.Held() || !f.Intact(r) {
		return 0
	}
	from, to := r.Pages()
	if r.Full = p.pages(f, from, to) < to; r.Full {
		return 0
	}
	return to - from
}

// records tries again to punch the unpunched records of f, and reports whether all of them are
// punched now. Until then, no record may be appended for f: if a restart finds data in the
// pages of any record except the last, it concludes that the file was truncated.
func (p puncher) records(f *source.File) bool {
	for i := range f.Records.List {
		r := &f.Records.List[i]
		if p.record(f, r); r.Full && f.Held() {
			return false
		}
	}
	return true
}
