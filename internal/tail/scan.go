package tail

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/statedir"
)

// Reasons why an entry of the source is not followed; label values of
// ullage_source_ignored_files.
const (
	ignoreName      = "name"
	ignoreSymlink   = "symlink"
	ignoreDirectory = "directory"
	ignoreSpecial   = "special"  // FIFO, socket, device
	ignoreLinks     = "hardlink" // more names than one

	IgnoredPermission = "permission"
	IgnoredTooMany    = "too_many" // files held open; it waits
	IgnoredError      = "error"
)

var ignoreReasons = []string{ignoreName, ignoreSymlink, ignoreDirectory, ignoreSpecial, ignoreLinks, IgnoredPermission, IgnoredTooMany, IgnoredError}

// Stale reports whether a scan is due, although it may be too early for it.
func (s *Source) Stale() bool { return s.listing.stale && s.dir.opened() }

// Scan brings the set of held files in step with the directory, if that is
// due: it opens files that are new, of which it returns the number, and learns
// new names of those that it has. It lists the directory until it has found a
// place for each new file, see [Source.place]. Between two scans passes several
// times the processor time that one takes, so that a storm of renames among
// thousands of files cannot keep a processor busy.
func (s *Source) Scan() (found int, err error) {
	started := s.now()
	if !s.Stale() || started.Before(s.listing.after) {
		return 0, nil
	}
	if !s.expected {
		s.expect(nil)
	}
	s.listing.stale = false
	cpu := threadCPU()
	defer func() { s.listing.rest(started, s.now(), threadCPU()-cpu) }()
	held := len(s.held)
	placed := false
	for n := 0; n < maxPasses && !placed; n++ {
		if err := s.list(); err != nil {
			return len(s.held) - held, err
		}
		placed = s.place()
	}
	s.listing.stale = s.listing.stale || !placed
	if placed && !s.listing.leftOut() {
		s.listing.round++
	}
	for _, reason := range ignoreReasons {
		s.metrics.ignored.WithLabelValues(reason).Set(float64(s.listing.ignored[reason]))
	}
	for _, st := range s.listing.renamed {
		s.countMissed(st)
	}
	s.listing.renamed = s.listing.renamed[:0]
	s.metrics.files.Set(float64(len(s.held)))
	found = len(s.held) - held
	if !s.listing.stale {
		s.sawAll()
	}
	s.makeRoom()
	return found, nil
}

// sawAll ends a scan during which the directory did not change: whatever later
// scans find is new, and a file that this one did not see is gone.
func (s *Source) sawAll() {
	for id, saved := range s.absent.unseen() {
		of := saved.content(id)
		if !s.strand(of, saved.Saved) {
			s.letGo(of)
		}
	}
	s.unaligned = false
	s.place()
}

// list goes once through the directory and looks at each entry.
func (s *Source) list() error {
	was := s.listing.begin()
	clear(s.absent.sighted)
	if _, err := s.dir.dir.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("rewind source directory: %w", err)
	}
	for {
		names, err := s.dir.dir.Readdirnames(512)
		for _, name := range names {
			if ok, _ := path.Match(s.cfg.Match, name); !ok || name == statedir.Name {
				s.sight(name)
				continue
			}
			if reason := s.see(name); reason != "" {
				s.listing.ignored[reason]++
				s.log.once("ignored "+reason, "source entry is not followed",
					"reason", reason, "name", name, "hint", "further entries with this reason are only counted")
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("list source directory: %w", err)
		}
	}
	s.nameless(was)
	clear(was)
	return nil
}

// makeRoom closes finished files for which the scan has found no other name,
// if others wait for that, and makes the next scan due.
func (s *Source) makeRoom() {
	if !s.listing.crowded() || s.listing.stale {
		return
	}
	held := len(s.held)
	for _, f := range s.held {
		if f.name == "" && f.caughtUp() {
			s.finish(f)
		}
	}
	s.listing.stale = s.listing.stale || len(s.held) < held
}

// nameless takes the name from the files that have lost it since the last
// scan. They are read to their end nevertheless.
func (s *Source) nameless(was map[string]*File) {
	for name, f := range was {
		if f.name == name && s.listing.names[name] != f {
			f.name = ""
			s.touch(f)
		}
	}
}

// see looks at one entry and follows it, unless there is a reason not to.
func (s *Source) see(name string) (reason string) {
	if !ValidName(name) {
		s.sight(name)
		return ignoreName
	}
	var st unix.Statx_t
	if err := statx(s.dir.fd(), name, unix.AT_SYMLINK_NOFOLLOW, &st); err != nil {
		s.listing.stale = s.listing.stale || err == unix.ENOENT // somebody may have renamed it during the scan
		return ignoreUnless(err, unix.ENOENT)
	}
	id := position.Identify(&st)
	f := s.held[id]
	if f == nil {
		s.absent.sight(id)
		if s.absent.isAside(id, &st) {
			return ""
		}
		if reason := typeReason(&st); reason != "" {
			return reason
		}
		if s.tooMany(name) {
			return IgnoredTooMany
		}
		var err error
		if f, err = s.openFile(name); err != nil {
			return ignoreUnless(err, unix.ENOENT)
		}
		if f == nil {
			// Another file has taken the name meanwhile.
			s.listing.stale = true
			return ""
		}
	}
	if f.name != name || f.fresh {
		f.name, f.fresh, f.renamed = name, false, true
		s.listing.renamed = append(s.listing.renamed, f.stream)
	}
	s.listing.names[name] = f
	if size := int64(st.Size); size != f.size {
		s.grow(f, size)
	}
	return ""
}

// sight finds out whether an entry that the scan does not follow is a file with
// a saved position.
func (s *Source) sight(name string) {
	var st unix.Statx_t
	if len(s.absent.saved) == 0 || name == statedir.Name {
		return
	}
	switch err := statx(s.dir.fd(), name, unix.AT_SYMLINK_NOFOLLOW, &st); err {
	case nil:
		s.absent.sight(position.Identify(&st))
	case unix.ENOENT:
		s.listing.stale = true // somebody may have renamed it during the scan
	}
}

// typeReason says why an inode is not followed, or nothing.
func typeReason(st *unix.Statx_t) string {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		if st.Nlink > 1 {
			return ignoreLinks
		}
		return ""
	case unix.S_IFLNK:
		return ignoreSymlink
	case unix.S_IFDIR:
		return ignoreDirectory
	}
	return ignoreSpecial
}

// ignoreUnless turns an error into a reason, except the expected one: an
// entry that has just vanished is no news.
func ignoreUnless(err error, expected unix.Errno) string {
	switch err {
	case expected:
		return ""
	case unix.EACCES, unix.EPERM:
		return IgnoredPermission
	case unix.EMFILE, unix.ENFILE:
		return IgnoredTooMany
	}
	return IgnoredError
}

// openFile opens the named file and begins to follow it. The descriptor is first
// one that can only be looked at (O_PATH): opening a FIFO or a device would
// already be an act. It returns nil if the name turned out to be no file that
// may be followed.
func (s *Source) openFile(name string) (*File, error) {
	look, err := unix.Openat(s.dir.fd(), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(look)
	var st unix.Statx_t
	if err := statx(look, "", unix.AT_EMPTY_PATH, &st); err != nil {
		return nil, err
	}
	if typeReason(&st) != "" || s.held[position.Identify(&st)] != nil {
		return nil, nil
	}
	fd, err := unix.Open(procFD(look), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := &File{
		of:     position.Content{Identity: position.Identify(&st)},
		rank:   rank{pass: s.listing.pass, round: s.listing.round, age: age(&st, s.listing.countsUp)},
		naming: naming{name: name, fresh: true},
		growth: growth{grew: s.now()},
		fd:     fd,
	}
	f.punchable = s.mayPunch(f, &st)
	streamName := StreamName(name)
	saved, waited := s.absent.saved[f.of.Identity]
	if waited {
		f.of.Epoch = saved.epoch
		streamName = cmp.Or(saved.Stream, streamName)
		if saved.Offset > 0 {
			f.round = 0 // persisted in part, and so older than what nobody has read
		}
	}
	if left := s.files[f.of]; left != nil {
		// The records of this content were taken in without the file.
		left.fd, left.punchable, left.naming, left.growth = f.fd, f.punchable, f.naming, f.growth
		s.hold(left)
		s.absent.remove(f.of.Identity)
		if !left.holds(left.committed) || !left.holdsRecords() || left.jumpTo(left.read) != nil {
			s.metrics.truncations.Inc()
			s.renew(left).unheld = true
		}
		return s.held[f.of.Identity], nil
	}
	f.stream = s.streamOf(streamName)
	s.hold(f)
	s.streams.join(f)
	s.restore(f, saved.Saved, waited)
	return s.held[f.of.Identity], nil
}

func procFD(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func statx(dirfd int, name string, flags int, st *unix.Statx_t) error {
	return unix.Statx(dirfd, name, flags|unix.AT_STATX_SYNC_AS_STAT, unix.STATX_BASIC_STATS|unix.STATX_BTIME, st)
}

// lostFound is a directory of ext4 in the root of a volume, and so not one of a
// stream.
const lostFound = "lost+found"

// ValidName reports whether a name can be that of a stream's directory, a
// label value and a line in a table.
func ValidName(name string) bool {
	return len(name) <= 200 && !strings.HasPrefix(name, ".") && StreamName(name) != lostFound && utf8.ValidString(name) &&
		strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// hold makes f the content that its file holds now.
func (s *Source) hold(f *File) {
	s.files[f.of], s.held[f.of.Identity] = f, f
}

// forget closes a file and drops all memory of it.
func (s *Source) forget(f *File) {
	if f.held() {
		unix.Close(f.fd)
		f.fd = -1
		delete(s.held, f.of.Identity)
	}
	delete(s.files, f.of)
	if f.name != "" && s.listing.names[f.name] == f {
		delete(s.listing.names, f.name)
	}
	s.streams.leave(f)
	s.metrics.files.Set(float64(len(s.held)))
}
