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

// strangerPatience is how long, in total, a lock is valid if its holder cannot be seen to be
// this program. Signs of life do not extend the time, because the application can give them
// too. It is longer than a sidecar needs to drain and end.
const strangerPatience = time.Minute

// lockBytes is how many bytes of the file Claim tries to lock. There are never that many dying
// owners at once.
const lockBytes int64 = 32

// Former is how the last owner of a source ended.
type Former string

// How the last owner may have ended. FormerStopped means that the owner called Close, even if it
// did so because of a signal and its drain was not complete.
const (
	NoFormer      Former = "first-start" // there has been no owner since the tmpfs was created
	FormerStopped Former = "clean-stop"
	FormerKilled  Former = "kill"
)

// stopped is the time to which an owner sets its file when it ends. Setting a time takes no
// memory on the tmpfs.
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
	waited time.Duration // how long Claim has been called repeatedly, with or without signs of life
}

// Claim makes this process the owner of the source to which the state directory dir belongs. It does not
// block, and fails with [ErrOwned] while another sidecar is the owner.
//
// The owner holds a POSIX lock on a byte of a file in dir. The kernel grants the lock to one process, tells
// other processes which one holds it, and releases it when that process ends. But a process that was killed
// during a call to a frozen disk keeps its lock, and the application can take the lock too. So a lock is
// valid only while its holder lives and may be a sidecar:
//
//	the holder is dying, or gives no sign of life for ownerPatience and is not stopped   no
//	its executable is seen, and has another name                                         no
//	its executable is that of this process                                               yes
//	its executable is not seen, or is another file with our name                         for strangerPatience
//
// If the lock is not valid, Claim locks another byte.
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
		_, err = c.alone(f) // if two processes have locked a byte at the same time, the later one sees the other
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

// listen updates how long there has been no sign of life from an owner.
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

// alone fails with ErrOwned if another process that may own the source holds a lock on f.
// Otherwise it returns which process holds a lock without owning the source, and why it does
// not own the source, or "".
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
		return fmt.Sprintf("%s has held the lock for %s, and does not look like a sidecar", who, strangerPatience)
	case state == kernel.Stopped:
		c.silent = 0
	case c.silent >= ownerPatience:
		return fmt.Sprintf("%s has given no sign of life for %s", who, ownerPatience)
	}
	return ""
}

// owned returns ErrOwned with the process ID of the owner, if this process can see the owner.
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

// Owner is the ownership of a source. Its holder calls Beat about once a second.
type Owner struct {
	Ousted   string // the process that held a lock without owning the source, and why; empty: none
	Unlocked error  // why there is no lock to keep a second sidecar out; nil: there is one
	Former   Former // empty if Unlocked is not nil

	dir  *os.File
	file *os.File // nil if no lock is held
}

// Beat gives a sign of life. It needs no memory on the tmpfs.
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

// Close releases the lock. It leaves the file in place: without a lock, the file keeps no sidecar
// out, and its time tells the next owner that this one has stopped.
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
