package statedir

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/process"
)

// ownerName is the name of the file in the directory that an [Owner] locks.
const ownerName = "owner"

// ownerPatience is for how long a process may hold the lock without a sign of
// life. An owner gives one about once a second.
const ownerPatience = 10 * time.Second

// ErrOwned reports that another sidecar owns the source. A later attempt
// succeeds when that sidecar has ended, was killed, or gives no sign of life.
var ErrOwned = errors.New("another sidecar owns the source")

// Claimant claims a source again and again until it owns it. The zero value is
// ready to use. It is not safe for concurrent use.
type Claimant struct {
	beat   time.Time     // the owner's last sign of life, by the owner's clock
	looked time.Time     // when Claim last looked for one
	silent time.Duration // for how long Claim has seen no other
}

// Claim makes this process the owner of the source of the state directory dir.
// It does not block, and fails with [ErrOwned] while another sidecar is the owner.
//
// The owner holds a POSIX lock on a file in dir: the kernel grants it to one
// process, names that process to the others, and releases the lock when the
// process ends. But a process that was killed in a call to a frozen disk keeps
// its lock, and the application can take the lock too. So the lock counts only
// while its holder lives: Claim takes the source over at once from a process
// that is dying, and after ownerPatience from one that is not stopped and gives
// no sign of life. To take over is to remove the locked file and to lock another
// one of the same name.
func (c *Claimant) Claim(dir *os.File) (*Owner, error) {
	var ousted string
	for range 3 { // others may replace the file between two steps
		f, err := openOwned(dir)
		if Transient(err) {
			return nil, fmt.Errorf("claim the source: %w", err)
		}
		if err != nil {
			return &Owner{Unlocked: err}, nil
		}
		o := &Owner{Ousted: ousted, dir: dir, file: f}
		held, pid, err := lock(f)
		if err != nil {
			o.Close()
			return &Owner{Unlocked: err}, nil
		}
		switch {
		case held:
			ousted = c.void(f, pid)
			if ousted == "" {
				o.Close()
				return nil, owned(pid)
			}
			if o.Named() {
				_ = unix.Unlinkat(int(dir.Fd()), ownerName, 0)
			}
		case o.Named():
			*c = Claimant{}
			o.Beat()
			return o, nil
		}
		o.Close()
	}
	return nil, ErrOwned
}

// owned names the owner, unless this process cannot see it.
func owned(pid int) error {
	if pid == 0 {
		return ErrOwned
	}
	return fmt.Errorf("%w: process %d", ErrOwned, pid)
}

// void returns why the lock on f that another process holds does not count, or
// "" if it counts. The pid is 0 if this process cannot see the holder.
func (c *Claimant) void(f *os.File, pid int) string {
	state := process.Running
	if pid > 0 {
		state = process.Look(pid)
	}
	if state == process.Dying {
		return fmt.Sprintf("process %d is dying", pid)
	}
	now := time.Now()
	info, err := f.Stat()
	if err != nil || state == process.Stopped || !info.ModTime().Equal(c.beat) {
		*c = Claimant{looked: now}
		if err == nil {
			c.beat = info.ModTime()
		}
		return ""
	}
	// If this process itself was stopped meanwhile, that time does not count.
	c.silent += min(now.Sub(c.looked), time.Second)
	c.looked = now
	if c.silent < ownerPatience {
		return ""
	}
	if pid > 0 {
		return fmt.Sprintf("process %d has given no sign of life for %s", pid, ownerPatience)
	}
	return fmt.Sprintf("a process in another container has given no sign of life for %s", ownerPatience)
}

// Owner is the ownership of a source. The owner calls Beat about once a second.
type Owner struct {
	Ousted   string // whose lock did not count, and why; empty: nobody's
	Unlocked error  // why nothing keeps a second sidecar out; nil: the lock does

	dir  *os.File
	file *os.File // nil: Unlocked
}

// Beat gives a sign of life. It needs no memory of the tmpfs.
func (o *Owner) Beat() {
	if o.file == nil {
		return
	}
	now := unix.NsecToTimeval(time.Now().UnixNano())
	_ = unix.Futimes(int(o.file.Fd()), []unix.Timeval{now, now}) // only a claimant that cannot see this process needs it
}

// Named reports whether the locked file still has its name: under it, others
// look for the lock.
func (o *Owner) Named() bool {
	if o.file == nil {
		return true
	}
	var ours, named unix.Stat_t
	return unix.Fstat(int(o.file.Fd()), &ours) == nil &&
		unix.Fstatat(int(o.dir.Fd()), ownerName, &named, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		ours.Dev == named.Dev && ours.Ino == named.Ino
}

// Close releases the lock. The file stays: without a lock it means nothing.
func (o *Owner) Close() {
	if o.file != nil {
		o.file.Close()
		o.file = nil
	}
}

// openOwned opens the file that owners lock. Whatever else has its name goes.
//
// A process loses its POSIX locks on a file when it closes any descriptor of
// it, so an owner must not open the file a second time.
func openOwned(dir *os.File) (*os.File, error) {
	f, err := OpenFile(dir, ownerName, unix.O_RDWR|unix.O_CREAT)
	if err != nil && !Transient(err) {
		Displace(dir, ownerName)
		f, err = OpenFile(dir, ownerName, unix.O_RDWR|unix.O_CREAT)
	}
	return f, err
}

// lock tries to lock f. If another process holds the lock, it returns its ID; 0:
// this process cannot see it, or it has just released the lock.
func lock(f *os.File) (held bool, pid int, err error) {
	l := unix.Flock_t{Type: unix.F_WRLCK}
	err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &l)
	if err == unix.EAGAIN || err == unix.EACCES {
		l = unix.Flock_t{Type: unix.F_WRLCK}
		err = unix.FcntlFlock(f.Fd(), unix.F_GETLK, &l)
		return true, max(0, int(l.Pid)), err
	}
	if err != nil {
		err = fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return false, 0, err
}
