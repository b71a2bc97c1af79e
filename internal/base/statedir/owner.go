package statedir

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
)

// ownerName is the name of the file in the directory that an [Owner] locks.
const ownerName = "owner"

// ownerPatience is how long a process may hold the lock without a sign of life.
// An owner gives a sign of life about once a second.
const ownerPatience = 10 * time.Second

// strangerPatience is how long, in all, a lock is valid whose holder is not seen to be this
// program, whatever signs of life there are: the application can give these as well. It is
// longer than a sidecar needs to drain and end.
const strangerPatience = time.Minute

// lockBytes is how many bytes of the file Claim tries to lock: more than there
// are dying owners at once.
const lockBytes int64 = 32

// Former is how the last owner of a source ended.
type Former string

// The ends of owners. FormerStopped means that the owner called Close, even if a signal stopped it
// and it gave up.
const (
	NoFormer      Former = "first-start" // there was no owner since the tmpfs was made
	FormerStopped Former = "clean-stop"
	FormerKilled  Former = "kill"
)

// stopped is the time to which an owner sets the file when it ends, which takes no memory of
// the tmpfs.
var stopped = time.Unix(0, 0)

// ErrOwned reports that another sidecar owns the source. A later attempt
// succeeds when that sidecar has ended, was killed, or gives no sign of life.
var ErrOwned = errors.New("another sidecar owns the source")

// Claimant repeatedly claims a source until it owns the source. The zero value is
// ready to use. It is not safe for concurrent use.
type Claimant struct {
	beat   time.Time     // the owner's last sign of life, by the owner's clock
	looked time.Time     // when Claim last looked for a sign of life
	silent time.Duration // how long Claim has seen no sign of life
	waited time.Duration // how long Claim has been called, whatever it saw
}

// Claim makes this process the owner of the source of the state directory dir.
// It does not block, and fails with [ErrOwned] while another sidecar is the owner.
//
// The owner holds a POSIX lock on a byte of a file in dir: the kernel grants it to
// one process, names that process to the others, and releases the lock when the
// process ends. But a process that was killed in a call to a frozen disk keeps its
// lock, and the application can take the lock too. So a lock is valid only while
// its holder lives and may be a sidecar:
//
//	the holder is dying, or gives no sign of life for ownerPatience and is not stopped   no
//	its executable is seen, and has another name                                         no
//	it is this one                                                                       yes
//	it is not seen, or is another file with that name                                    for strangerPatience
//
// Claim then locks another byte.
func (c *Claimant) Claim(dir *os.File) (*Owner, error) {
	f, fresh, err := openOwned(dir)
	if Transient(err) {
		return nil, fmt.Errorf("claim the source: %w", err)
	}
	if err != nil {
		return &Owner{Unlocked: err}, nil
	}
	c.listen(f)
	ousted, err := c.alone(f)
	if err == nil {
		err = lock(f)
	}
	if err == nil {
		_, err = c.alone(f) // of two that have locked a byte at once, the later one sees the other
	}
	if err != nil {
		f.Close()
	}
	if errors.Is(err, ErrOwned) {
		return nil, err
	}
	*c = Claimant{}
	o := &Owner{Ousted: ousted, Unlocked: err}
	if err == nil {
		o.dir, o.file, o.Former = dir, f, formerOf(f, fresh)
		o.Beat()
	}
	return o, nil
}

// formerOf returns how the last owner ended, before the next one gives a sign of life.
func formerOf(f *os.File, fresh bool) Former {
	info, err := f.Stat()
	switch {
	case fresh:
		return NoFormer
	case err == nil && info.ModTime().Equal(stopped):
		return FormerStopped
	}
	return FormerKilled
}

// listen updates how long no owner has given a sign of life.
func (c *Claimant) listen(f *os.File) {
	now := time.Now()
	passed := time.Duration(0)
	if !c.looked.IsZero() {
		// If this process itself was stopped meanwhile, that time is ignored.
		passed = min(now.Sub(c.looked), time.Second)
	}
	c.looked = now
	c.waited += passed
	info, err := f.Stat()
	switch {
	case err != nil:
		c.beat, c.silent = time.Time{}, 0
	case !info.ModTime().Equal(c.beat):
		c.beat, c.silent = info.ModTime(), 0
	default:
		c.silent += passed
	}
}

// alone fails with ErrOwned if another process that may own the
// source holds a lock on f. Otherwise it returns which process holds a lock without owning
// the source, and why, or "".
func (c *Claimant) alone(f *os.File) (ousted string, err error) {
	for at := range lockBytes {
		l := unix.Flock_t{Type: unix.F_WRLCK, Start: at, Len: 1}
		if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &l); err != nil {
			return "", fmt.Errorf("look for locks on %s: %w", f.Name(), err)
		}
		if l.Type == unix.F_UNLCK {
			continue
		}
		if ousted = c.void(int(l.Pid)); ousted == "" {
			return "", owned(int(l.Pid))
		}
	}
	return ousted, nil
}

// void returns why the lock of a process is not valid, or "" if it is valid. pid is
// not positive if this process cannot see the other.
func (c *Claimant) void(pid int) string {
	who, state, is := "a process in another container", kernel.Running, kernel.Unseen
	if pid > 0 {
		who, state, is = fmt.Sprintf("process %d", pid), kernel.StateOf(pid), kernel.ProgramOf(pid)
	}
	switch {
	case state == kernel.Dying:
		return who + " is dying"
	case is == kernel.Other:
		return who + " is not a sidecar"
	case is == kernel.Unseen && c.waited >= strangerPatience:
		return fmt.Sprintf("%s has held the lock for %s, and is not seen to be a sidecar", who, strangerPatience)
	case state == kernel.Stopped:
		c.silent = 0
	case c.silent >= ownerPatience:
		return fmt.Sprintf("%s has given no sign of life for %s", who, ownerPatience)
	}
	return ""
}

// owned names the owner, unless this process cannot see it.
func owned(pid int) error {
	if pid <= 0 {
		return ErrOwned
	}
	return fmt.Errorf("%w: process %d", ErrOwned, pid)
}

// lock locks a byte of f that no other process has locked.
func lock(f *os.File) error {
	for at := range lockBytes {
		l := unix.Flock_t{Type: unix.F_WRLCK, Start: at, Len: 1}
		err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &l)
		if err == nil {
			return nil
		}
		if err != unix.EAGAIN && err != unix.EACCES {
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		}
	}
	return fmt.Errorf("lock %s: other processes have locked all of it", f.Name())
}

// Owner is the ownership of a source. The owner calls Beat about once a second.
type Owner struct {
	Ousted   string // the process that held a lock without owning the source, and why; empty: none
	Unlocked error  // why nothing keeps a second sidecar out; nil: the lock does
	Former   Former // empty: Unlocked

	dir  *os.File
	file *os.File // nil: Unlocked
}

// Beat gives a sign of life. It needs no memory of the tmpfs.
func (o *Owner) Beat() { o.date(time.Now()) }

// date sets the time of the file.
func (o *Owner) date(t time.Time) {
	if o.file == nil {
		return
	}
	at := unix.NsecToTimeval(t.UnixNano())
	_ = unix.Futimes(int(o.file.Fd()), []unix.Timeval{at, at}) // fails only without /proc
}

// Named reports whether the locked file still has the name under which others look for
// the lock.
func (o *Owner) Named() bool {
	if o.file == nil {
		return true
	}
	var ours, named unix.Stat_t
	return unix.Fstat(int(o.file.Fd()), &ours) == nil &&
		unix.Fstatat(int(o.dir.Fd()), ownerName, &named, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		ours.Dev == named.Dev && ours.Ino == named.Ino
}

// Close releases the lock. It keeps the file: without a lock, the file's time only shows
// that its owner has stopped.
func (o *Owner) Close() {
	if o.file != nil {
		o.date(stopped)
		o.file.Close()
		o.file = nil
	}
}

// openOwned opens the file that owners lock. It removes anything else that has this name.
// fresh reports that there was no such file.
//
// A process loses its POSIX locks on a file when it closes any descriptor of
// it, so an owner must not open the file a second time.
func openOwned(dir *os.File) (f *os.File, fresh bool, err error) {
	f, err = OpenFile(dir, ownerName, unix.O_RDWR)
	if err == nil || Transient(err) {
		return f, false, err
	}
	if f, err = OpenFile(dir, ownerName, unix.O_RDWR|unix.O_CREAT); err != nil && !Transient(err) {
		Displace(dir, ownerName)
		f, err = OpenFile(dir, ownerName, unix.O_RDWR|unix.O_CREAT)
	}
	return f, true, err
}
