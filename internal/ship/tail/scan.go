package tail

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/base/untrusted"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/source"
)

// maxPasses bounds how often one scan lists the directory. A file that still has no place in
// its stream after the last listing gets one in the next scan.
const maxPasses = 4

// A Scanner updates the table from the directory.
type Scanner struct {
	*env
	dir      *directory
	table    *source.Table
	listing  *listing
	capacity *Capacity
	left     *leftovers
	punch    puncher
	reclaim  *Reclaimer

	renamed []*source.Stream // during a scan, the streams with a file that has a new name
}

// Stale reports whether a scan is due. The pause after the last scan may not be over yet.
func (s *Scanner) Stale() bool { return s.listing.stale && s.dir.opened() }

// Scan updates the set of held files from the directory if a scan is due: it opens new files
// and returns their number, and it learns new names of held files. It lists the directory until
// it has found a place for each new file, see [source.Streams.Place]. The pause between two
// scans is several times the CPU time of a scan, so that a burst of renames among thousands of
// files cannot keep a processor busy.
func (s *Scanner) Scan() (found int, err error) {
	started := s.now()
	if !s.Stale() || started.Before(s.listing.after) {
		return 0, nil
	}
	s.left.expectOnce()
	s.listing.stale = false
	runtime.LockOSThread() // the CPU time must be that of one thread
	defer runtime.UnlockOSThread()
	cpu := threadCPU()
	defer func() { s.listing.rest(started, s.now(), threadCPU()-cpu) }()
	held := len(s.table.Held)
	changed, err := s.dir.changed()
	if err != nil {
		return 0, err
	}
	placed := false
	for n := 0; n < maxPasses && !placed; n++ {
		if err := s.list(); err != nil {
			return len(s.table.Held) - held, err
		}
		placed = s.table.Streams.Place(s.listing.pass)
	}
	s.listing.end(placed)
	s.listing.sawUpTo(changed, started)
	for _, reason := range ignoreReasons {
		s.metrics.ignored.WithLabelValues(reason).Set(float64(s.listing.ignored[reason]))
	}
	for _, st := range s.renamed {
		s.countMissed(st)
	}
	s.renamed = s.renamed[:0]
	found = len(s.table.Held) - held
	if !s.listing.stale {
		s.sawAll()
	}
	s.reclaim.makeRoom()
	s.countFiles(s.table)
	return found, nil
}

// sawAll ends a scan during which the directory did not change. Files that later scans find
// are then new, and a file that this scan did not see is gone.
func (s *Scanner) sawAll() {
	for id, saved := range s.table.Absent.Unseen() {
		of := saved.Content(id)
		if !s.left.strand(of, saved.Saved) {
			s.table.LetGo(of)
		}
	}
	s.left.unaligned = false
	s.table.Streams.Place(s.listing.pass)
	s.listing.sawAll()
}

// countMissed examines the new names of a stream's files after a scan and counts the
// archives that were overwritten unread.
func (s *Scanner) countMissed(st *source.Stream) {
	for _, f := range st.Files {
		if !f.Entry.Renamed {
			continue
		}
		f.Entry.Renamed = false
		number, ok := naming.ArchiveNumber(f.Entry.Name)
		if !ok {
			continue
		}
		if missed := st.Archives.Take(number); missed > 0 {
			s.metrics.missedFiles.Add(float64(missed))
			s.mark(mark.ArchivesMissed, "stream", st.Name, "count", strconv.Itoa(missed))
			// messages.md#the-source: The JVM rotates files that are too small. `archives` of them
			// are lost, with their lines. Let it rotate larger files, or none with `filesize=0`.
			s.log.once("missed", "archives were overwritten unread", "stream", st.Name, "archives", missed,
				"hint", "their lines are lost; let the JVM rotate larger files, or not at all with filesize=0; further archives are only counted")
		}
	}
	st.Archives.Settle(s.listing.pass)
}

// list lists the directory once and examines each entry.
func (s *Scanner) list() error {
	s.listing.begin()
	was := s.table.Names.Begin()
	clear(s.table.Absent.Sighted)
	rings := false
	if _, err := s.dir.dir.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("rewind source directory: %w", err)
	}
	err := untrusted.EachEntry(s.dir.dir.Readdirnames, func(name string) error {
		if !s.cfg.follows(name) {
			s.sight(name)
			rings = rings || isRing(name)
		} else if reason := s.see(name); reason != "" {
			s.leaveOut(name, reason)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list source directory: %w", err)
	}
	s.nameless(was)
	clear(was)
	if rings && s.to.Rings != nil {
		s.to.Rings()
	}
	return nil
}

// leaveOut counts an entry that is not followed.
func (s *Scanner) leaveOut(name, reason string) {
	s.listing.leaveOut(reason)
	stream := naming.StreamOf(name)
	if st := s.table.Streams.ByName[stream]; st != nil && reason == IgnoredTooMany {
		st.Archives.Wait(s.listing.pass)
	}
	if _, refused := s.table.Streams.Refused[stream]; refused && followedLater(reason) {
		s.listing.hide(stream)
	}
	hint := "further entries with this reason are only counted"
	if by := s.listing.denied; by != nil && reason == IgnoredPermission {
		hint = by.Advice()
	}
	// messages.md#the-source: A link, FIFO, socket, directory, odd name, second hard link, missing
	// permission, or too many files. `ullage_source_ignored_files` counts further entries with the
	// same reason.
	s.log.once("ignored "+reason, "source entry is not followed", "reason", reason, "name", name, "hint", hint)
}

// nameless removes the names of files that have lost them since the last scan. Such files are
// still read to their end.
func (s *Scanner) nameless(was map[string]*source.File) {
	for name, f := range was {
		if f.Entry.Name == name && s.table.Names.Now[name] != f {
			f.Entry.Name = ""
			s.table.Touch(f)
		}
	}
}

// see examines one entry and follows it unless there is a reason not to.
func (s *Scanner) see(name string) (reason string) {
	if !naming.Valid(name) {
		s.sight(name)
		return ignoreName
	}
	var st unix.Statx_t
	if err := statx(s.dir.fd(), name, unix.AT_SYMLINK_NOFOLLOW, &st); err != nil {
		s.listing.stale = s.listing.stale || err == unix.ENOENT // the file may have been renamed during the scan
		return ignoreUnless(err, unix.ENOENT)
	}
	id := position.Identify(&st)
	f := s.table.Held[id]
	if f == nil {
		s.table.Absent.Sight(id)
		if s.table.Absent.IsAside(id, &st) {
			return ""
		}
		if reason := typeReason(&st); reason != "" {
			return reason
		}
		if s.capacity.tooMany(name) {
			return IgnoredTooMany
		}
		var err error
		if f, err = s.openFile(name); err != nil {
			return ignoreUnless(err, unix.ENOENT)
		}
		if f == nil {
			// Another file has taken the name meanwhile.
			s.listing.expire()
			return ""
		}
	}
	if f.Entry.Name != name || f.Entry.Fresh {
		f.Entry.Name, f.Entry.Fresh, f.Entry.Renamed = name, false, true
		s.renamed = append(s.renamed, f.Stream)
	}
	s.table.Names.Now[name] = f
	if size := int64(st.Size); size != f.Growth.Size {
		s.table.Grow(f, size, s.now())
	}
	return ""
}

// sight finds out whether an entry that the scan does not follow is a file with
// a saved position.
func (s *Scanner) sight(name string) {
	var st unix.Statx_t
	if len(s.table.Absent.Saved) == 0 || name == statedir.Name {
		return
	}
	switch err := statx(s.dir.fd(), name, unix.AT_SYMLINK_NOFOLLOW, &st); err {
	case nil:
		s.table.Absent.Sight(position.Identify(&st))
	case unix.ENOENT:
		s.listing.expire() // the file may have been renamed during the scan
	}
}

// openFile opens the named file and begins to follow it. It first opens a descriptor with
// O_PATH, which only permits examining the file, since opening a FIFO or a device can have
// side effects. It returns nil if the name now belongs to a file that may not be followed.
func (s *Scanner) openFile(name string) (*source.File, error) {
	look, err := unix.Openat(s.dir.fd(), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(look)
	var st unix.Statx_t
	if err := statx(look, "", unix.AT_EMPTY_PATH, &st); err != nil {
		return nil, err
	}
	if typeReason(&st) != "" || s.table.Held[position.Identify(&st)] != nil {
		return nil, nil
	}
	fd, err := unix.Open(kernel.NameOf(look), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	by := s.creator(&st)
	if err != nil {
		if err == unix.EACCES && !by.IsOurs() { // otherwise the file's mode forbids it
			s.listing.denied = by
		}
		return nil, err
	}
	f := &source.File{
		Of:     position.Content{Identity: position.Identify(&st)},
		Rank:   source.Rank{Pass: s.listing.pass, Round: s.listing.round, Age: source.Age(&st, s.dir.countsUp)},
		Entry:  source.Entry{Name: name, Fresh: true},
		Growth: source.Growth{Grew: s.now()},
		Inode:  source.Inode{FD: fd},
	}
	f.Inode.Punchable = s.punch.allowed(f, by)
	// Root can attach to every JVM, and may punch unless its capabilities were dropped.
	if !by.IsOurs() && (os.Geteuid() != 0 || s.cfg.punches(name) && !f.Inode.Punchable) {
		f.Inode.Stranger = by
	}
	return s.follow(f), nil
}

// creator returns the user who created a file of the source.
func (s *Scanner) creator(st *unix.Statx_t) *kernel.User {
	var dir unix.Stat_t
	hidden := unix.Fstat(s.dir.fd(), &dir) == nil && dir.Mode&unix.S_ISGID != 0
	return &kernel.User{UID: st.Uid, GID: st.Gid, GroupHidden: hidden}
}

// follow continues with a newly opened file where an earlier process, or this one, stopped.
// It returns the present content of the file.
func (s *Scanner) follow(f *source.File) *source.File {
	id, stream := f.Of.Identity, naming.StreamOf(f.Entry.Name)
	saved, waited := s.table.Absent.Saved[id]
	if waited {
		f.Of.Epoch = saved.Epoch
		stream = cmp.Or(saved.Stream, stream)
		if saved.Offset > 0 {
			f.Rank.Round = 0 // a partly persisted file is older than unread ones
		}
	}
	if left := s.table.Files[f.Of]; left != nil {
		// The records of this content were adopted without the file.
		left.Inode.FD, left.Inode.Punchable, left.Inode.Stranger = f.Inode.FD, f.Inode.Punchable, f.Inode.Stranger
		left.Entry, left.Growth = f.Entry, f.Growth
		s.table.Hold(left)
		s.left.rejoin(left)
	} else {
		if s.add(s.table, f, stream) {
			// While all files of a stream wait, the stream is forgotten, and so is the listing in which they waited.
			f.Stream.Archives.Wait(s.listing.waited)
		}
		s.left.resume(f, saved.Saved, waited)
	}
	return s.table.Held[id]
}
