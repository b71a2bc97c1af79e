package statedir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ownerName is the name of the socket in the directory. [Owner] answers there.
const ownerName = "owner.sock"

// greeting is what an Owner sends to whoever connects. Nothing is read.
const greeting = "ullage owns this source\n"

const (
	// answerTime bounds the connect to an owner and its answer.
	answerTime = time.Second

	// ownerPatience is for how long a held lock without an answering owner keeps
	// a sidecar from the source. An owner listens within milliseconds after it
	// has taken the lock.
	ownerPatience = 2 * time.Second

	// acceptPause is how long an Owner waits after a failed accept: most likely,
	// no descriptor is free.
	acceptPause = 100 * time.Millisecond
)

// OwnedError reports that another sidecar owns the source. A later attempt
// succeeds when that sidecar has ended or no longer answers.
type OwnedError struct {
	PID int // as the kernel names the peer; 0: it has not answered yet, or is in another PID namespace
}

// Error names the owner as far as it is known.
func (e *OwnedError) Error() string {
	who := "another sidecar"
	if e.PID > 0 {
		who += fmt.Sprintf(" (pid %d)", e.PID)
	}
	return who + " owns the source: waiting for its end"
}

// Claimant claims the source again and again until it owns it. The zero value
// is ready to use. It is not safe for concurrent use.
type Claimant struct {
	silent time.Time // since when the lock has been held and no owner has answered; zero: neither
}

// Claim makes this process the owner of the source of the state directory dir.
//
// The lock of dir is the authority: of several claimants the kernel gives it to
// one, and takes it from a process that is killed. But the application can lock
// dir too, and a killed process in a call to a frozen disk keeps its lock. So a
// held lock counts only if an owner answers at the socket: Claim returns an
// [*OwnedError] while one does, and for ownerPatience after none has. Then it
// succeeds without the lock, and Owner.Locked is false.
//
// The lock lasts as long as dir is open. Close the Owner before dir.
func (c *Claimant) Claim(dir *os.File) (*Owner, error) {
	err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		pid, askErr := askOwner(dir)
		now := time.Now()
		switch {
		case askErr == nil:
			c.silent = time.Time{}
			return nil, &OwnedError{PID: pid}
		case c.silent.IsZero():
			c.silent = now
		}
		if now.Sub(c.silent) < ownerPatience {
			return nil, &OwnedError{}
		}
	}
	c.silent = time.Time{}
	o := &Owner{Locked: err != unix.EWOULDBLOCK}
	o.Deaf = o.listen(dir)
	return o, nil
}

// Owner is the ownership of a source. It answers other sidecars until it is
// closed.
type Owner struct {
	Locked bool  // no other process holds the lock of the directory
	Deaf   error // why the Owner cannot answer; nil: it answers

	dir    *os.File
	socket *net.UnixListener
	inode  unix.Stat_t
	over   context.Context
	cancel context.CancelFunc
	crew   sync.WaitGroup // the goroutine that answers
}

// listen replaces what has the socket's name: the socket of a killed owner, or
// a file of the application. The path leads through a descriptor, so that it
// fits into an address however long the path of the source is.
func (o *Owner) listen(dir *os.File) error {
	const fresh = ownerName + ".new"
	Displace(dir, fresh)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), fresh)})
	if err != nil {
		return fmt.Errorf("listen as the owner of the source: %w", err)
	}
	l.SetUnlinkOnClose(false)
	at := int(dir.Fd())
	err = unix.Renameat(at, fresh, at, ownerName)
	if err == unix.EISDIR {
		Displace(dir, ownerName)
		err = unix.Renameat(at, fresh, at, ownerName)
	}
	if err == nil {
		err = unix.Fstatat(at, ownerName, &o.inode, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		l.Close()
		return fmt.Errorf("listen as the owner of the source: %w", err)
	}
	o.dir, o.socket = dir, l
	o.over, o.cancel = context.WithCancel(context.Background())
	o.crew.Go(o.answer)
	return nil
}

// answer greets one client after the other.
func (o *Owner) answer() {
	for o.over.Err() == nil {
		c, err := o.socket.Accept()
		if err != nil {
			select {
			case <-o.over.Done():
			case <-time.After(acceptPause):
			}
			continue
		}
		// The greeting fits into the socket's buffer, so that no client delays
		// the next one.
		if c.SetWriteDeadline(time.Now().Add(acceptPause)) == nil {
			_, _ = io.WriteString(c, greeting) // the client has gone
		}
		c.Close()
	}
}

// Close ends the answers and removes the socket, unless another owner has
// replaced it. It is safe to call on a nil Owner.
func (o *Owner) Close() {
	if o == nil || o.socket == nil {
		return
	}
	var is unix.Stat_t
	at := int(o.dir.Fd())
	if unix.Fstatat(at, ownerName, &is, unix.AT_SYMLINK_NOFOLLOW) == nil && is.Dev == o.inode.Dev && is.Ino == o.inode.Ino {
		_ = unix.Unlinkat(at, ownerName, 0) // otherwise a stale socket stays, which is harmless
	}
	o.cancel()
	o.socket.Close()
	o.crew.Wait()
	o.socket = nil
}

// askOwner returns the process ID of the owner that answers at the socket in
// dir. It follows no link, and connects to nothing else than a socket.
func askOwner(dir *os.File) (int, error) {
	fd, err := unix.Openat(int(dir.Fd()), ownerName, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("ask the owner of the source: %w", err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, fmt.Errorf("ask the owner of the source: %w", err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return 0, errors.New("ask the owner of the source: it is not a socket")
	}
	c, err := net.DialTimeout("unix", fmt.Sprintf("/proc/self/fd/%d", fd), answerTime)
	if err != nil {
		return 0, fmt.Errorf("ask the owner of the source: %w", err)
	}
	defer c.Close()
	if err := c.SetReadDeadline(time.Now().Add(answerTime)); err != nil {
		return 0, fmt.Errorf("ask the owner of the source: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(c, int64(len(greeting))))
	if err != nil || !strings.HasPrefix(string(text), greeting) {
		return 0, fmt.Errorf("ask the owner of the source: no ullage answers (%w)", errors.Join(err, io.ErrUnexpectedEOF))
	}
	return peerOf(c.(*net.UnixConn)), nil
}

// peerOf returns the process that listened on a socket; 0: it is not visible.
func peerOf(c *net.UnixConn) (pid int) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(peer.Pid)
		}
	}) // fails only on a closed connection
	return pid
}
