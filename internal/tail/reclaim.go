package tail

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/statedir"
)

// unknownGrace is how long a file must have been quiet to count as finished
// where the kernel will not tell whether it has a writer: the lease is granted
// to the file's owner only.
const unknownGrace = 5 * time.Second

// writers is what the kernel says about who has a file open for writing.
type writers int

const (
	writersUnknown writers = iota
	writersNone
	writersSome
)

// writers asks the kernel by taking a read lease, which it grants when nobody
// has the file open for writing, and giving it back at once.
//
// Who opens this file for writing between the two calls waits until the second
// one, or for /proc/sys/fs/lease-break-time at most (45 s), should the process
// be stopped just there. So the calls are raw: the Go scheduler cannot let other
// goroutines run between them, and only the kernel can take the processor away.
// No rotation waits. A JVM then renames its file and creates another, and a
// lease holds up neither; only a JVM that opens a finished log in place, which
// filecount=0 makes it do at its start, opens a file that can have a lease.
func (f *File) writers() writers {
	switch _, _, err := unix.RawSyscall(unix.SYS_FCNTL, uintptr(f.fd), unix.F_SETLEASE, unix.F_RDLCK); err {
	case 0:
		unix.RawSyscall(unix.SYS_FCNTL, uintptr(f.fd), unix.F_SETLEASE, unix.F_UNLCK)
		return writersNone
	case unix.EAGAIN:
		return writersSome
	}
	return writersUnknown
}

// writerless reports whether nobody writes f any more.
func (s *Source) writerless(f *File) bool {
	switch f.writers() {
	case writersNone:
		return true
	case writersSome:
		return false
	}
	rotatedAway := f.name == "" || f.stream.superseded(f)
	return rotatedAway && s.now().Sub(f.grew) > unknownGrace
}

// Written reports whether anybody has a file open for writing, as far as the
// kernel shows.
func (s *Source) Written() bool {
	for _, f := range s.held {
		if f.writers() == writersSome {
			return true
		}
	}
	return false
}

// mayEnd reports whether what stands behind the last line end of f is all
// that will ever come.
func (s *Source) mayEnd(f *File) bool {
	quiet := !f.young || s.draining || f.name == "" || f.stream.superseded(f)
	return quiet && s.writerless(f)
}

// Committed takes in that everything up to the end of c is durable.
func (s *Source) Committed(c Chunk) {
	f := c.File
	f.committed = c.End
	f.records.freeBefore(c.End.Offset)
	s.commitOpenLine(c)
	switch {
	case s.files[f.of] != f:
		s.letGo(f.of) // the checkpoint has it again
	case !f.held() && f.caughtUp():
		s.finishContent(f)
	}
}

// finishContent forgets a content that its file does not hold any more.
func (s *Source) finishContent(f *File) {
	f.records.freeBefore(f.read.Offset) // of these there was nothing to hand on
	s.forget(f)
	s.letGo(f.of)
}

// commitOpenLine notes how the durable part of the stream ends. The checkpoint
// kept the position of a file that is gone for the sake of its open line: it
// need not once that line has ended.
func (s *Source) commitOpenLine(c Chunk) {
	of, open := s.open.commit(c)
	if open && !s.absent.waits(of.Identity) && s.files[of] == nil {
		s.letGo(of)
		s.absent.remove(of.Identity)
	}
}

// letGo says that the checkpoint need not have the position of a file any more,
// unless that position stands for an open line.
func (s *Source) letGo(of position.Content) {
	if !s.open.isOf(of) {
		s.gone = append(s.gone, of)
	}
}

// setAside closes a finished file that keeps its name. Without room to remember
// it, the file stays held: otherwise it would be read again.
func (s *Source) setAside(f *File) {
	var st unix.Statx_t
	if s.absent.full() || statx(f.fd, "", unix.AT_EMPTY_PATH, &st) != nil || int64(st.Size) != f.size {
		return
	}
	s.absent.setAside(f.of.Identity, savedOf(f), &st)
	s.forget(f)
	s.listing.stale = true
}

// Rewind forgets everything that was handed on and not committed, so that
// Next hands it on again.
func (s *Source) Rewind() {
	for _, f := range s.files {
		s.rewind(f)
	}
	s.open.rewind()
}

func (s *Source) rewind(f *File) {
	if err := f.rewind(); err != nil {
		s.metrics.truncations.Inc()
		s.log.Warn("source file changed before its position", "error", err, "hint", "it is read from its beginning")
		f.read, f.queued = f.committed, f.committed // nothing was handed on
		s.renew(f)
	}
	s.touch(f)
}

// Tick is the slow poll, to be called about once a second: it makes a scan
// due, and looks for files whose writer is gone.
func (s *Source) Tick() {
	s.listing.stale = true
	if s.dir.watcher == nil && s.dir.opened() {
		s.lookAgain()
	}
	for _, f := range s.held {
		if size, _, err := f.sizeNow(); err == nil && size != f.size {
			s.grow(f, size)
			continue
		}
		if !f.young && (f.read.Offset < f.size || f.read.Open) {
			s.touch(f) // its rest may be due
		}
		f.quiet = !f.young
		f.young = false
	}
}

// Reclaim gives back what is committed: pages of files that are still
// written, and whole files that are finished. It returns the files that it
// closed; a checkpoint need not name them any more.
func (s *Source) Reclaim() (gone []position.Content) {
	for _, f := range s.held {
		if s.cfg.Reclaim != ReclaimNone {
			s.punch(f)
		}
		// Who is most likely written to is asked about once in a tick only, if
		// nobody waits for it.
		due := s.listing.crowded() || f.quiet || f.name == "" || f.stream.superseded(f) || s.draining
		f.quiet = false
		if due && f.caughtUp() {
			s.finish(f)
		}
	}
	s.spool.closeUnused(s.files)
	gone, s.gone = s.gone, nil
	// The checkpoint needs the position of a file that came back meanwhile.
	return slices.DeleteFunc(gone, func(of position.Content) bool {
		return s.files[of] != nil || s.absent.waits(of.Identity) && s.absent.saved[of.Identity].epoch == of.Epoch
	})
}

// punch gives back the whole pages before the committed position, but for the
// one with the byte before it. The position is compared once more before:
// bytes that a JVM has just written over a truncated file are not ours to give.
func (s *Source) punch(f *File) {
	end := position.PageBefore(f.committed.Offset)
	if !f.punchable || end <= f.reclaimed || !f.holds(f.committed) {
		return
	}
	f.reclaimed = s.punchPages(f, f.reclaimed, end)
	f.lookWhetherHollow()
}

// punchPages gives back the pages from one offset to another and returns how
// far it came.
func (s *Source) punchPages(f *File, at, end int64) int64 {
	fd, err := unix.Open(procFD(f.fd), unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err == nil {
		defer unix.Close(fd)
		for err == nil && at < end {
			// In batches, since a punch and the JVM's write wait for each other.
			// What is a hole already, of whatever size, costs one call.
			var data int64
			if data, err = f.nextData(at); err != nil || data >= end {
				at = end
				break
			}
			at = data &^ (position.PageSize - 1)
			n := min(end-at, blockBytes)
			if err = unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, n); err == nil {
				at += n
				s.metrics.reclaimed.WithLabelValues(string(ReclaimPunch)).Add(float64(n))
			}
		}
	}
	if err != nil {
		s.metrics.reclaimErrs.Inc()
		s.log.once("punch", "punching a source file failed", "file", f.name, "error", err, "hint", "its memory stays in use")
		f.punchable = err != unix.EOPNOTSUPP && err != unix.EACCES && err != unix.EPERM
	}
	return at
}

// finish closes a file of which everything is committed, if no process writes to
// it any more. A file that has a name loses the name first and is closed by a
// later call, because a process may have opened it just before. A file that still
// has a name elsewhere may come back, so its position waits.
func (s *Source) finish(f *File) {
	if !s.writerless(f) {
		return
	}
	size, links, err := f.sizeNow()
	if err != nil {
		return
	}
	if s.changed(f) {
		s.grow(f, size) // it grew, or was truncated and written again
		return
	}
	if links == 0 || f.name == "" && !s.listing.stale {
		if links > 0 && !s.absent.full() {
			s.absent.await(f.of.Identity, savedOf(f))
		} else {
			s.letGo(f.of)
		}
		s.forget(f)
		return
	}
	switch {
	case f.name == "" || !s.dir.opened():
		// It may have another name, which the scan will find.
	case s.cfg.Reclaim != ReclaimNone && !f.keepName:
		s.unlink(f)
	case s.listing.crowded():
		s.setAside(f)
	}
}

// mayPunch finds out whether holes may be punched into f, and says once when
// they may not although they were asked for.
func (s *Source) mayPunch(f *File, st *unix.Statx_t) bool {
	if s.cfg.Reclaim == ReclaimUnlink || s.cfg.Reclaim == ReclaimNone {
		return false
	}
	fd, err := unix.Open(procFD(f.fd), unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err == unix.EMFILE || err == unix.ENFILE {
		return true // as far as one knows: the punch will tell
	}
	if err != nil {
		s.log.once("no punch", "source file may not be punched",
			"file", f.name, "owner", statedir.OwnerHint(st.Uid, st.Gid, uint32(st.Mode)), "error", err,
			"hint", "its memory is given back only when it is unlinked; run the sidecar as the JVM's user and group")
		return false
	}
	unix.Close(fd)
	if !s.log.warned["punch mode"] {
		s.log.warned["punch mode"] = true
		s.log.Info("reclaiming by punching holes", "reclaim", ReclaimPunch)
	}
	return true
}
