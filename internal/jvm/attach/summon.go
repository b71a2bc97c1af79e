package attach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/retry"
)

// retryAfter is how long to wait before another SIGQUIT if a JVM opened no socket after the first:
// each SIGQUIT may make the JVM print a thread dump into the application's output.
const retryAfter = 30 * time.Second

// summon makes a JVM that does not listen yet open its socket, and connects to it. On SIGQUIT, the
// JVM looks for a trigger file: if the file exists, the JVM opens its socket; otherwise, it prints
// a thread dump. stale is the file that now has the name of the socket, if there is one.
func (c *Client) summon(ctx context.Context, j JVM, stale inode) (*conn, error) {
	if err := c.maySummon(j); err != nil {
		return nil, err
	}
	// The descriptor identifies the process; the process ID does not. The checks below apply to the
	// process that gets the signal.
	pidfd, err := unix.PidfdOpen(j.host, 0)
	if err != nil {
		return nil, fmt.Errorf("open process: %w", err)
	}
	defer unix.Close(pidfd)
	st, err := readStatus(j.host)
	if err != nil {
		return nil, err
	}
	if !st.catchesQuit || !runsVM(j.host) {
		// The signal would kill the process.
		return nil, &Error{Kind: Disabled, JVM: j.String(),
			Text: "it does not listen, and SIGQUIT would kill it (it has just started, or was started with -Xrs and lost its socket): start it with -XX:+StartAttachListener"}
	}
	remove, err := j.createTrigger()
	if err != nil {
		return nil, fmt.Errorf("create trigger file for attaching: %w", err)
	}
	defer remove()
	if !c.Alive(j) {
		return nil, unix.ESRCH
	}
	if !c.hasSocket(j, stale) {
		if err := unix.PidfdSendSignal(pidfd, unix.SIGQUIT, nil, 0); err != nil {
			return nil, fmt.Errorf("send SIGQUIT: %w", err)
		}
	}
	conn, err := c.await(ctx, j)
	if err != nil {
		c.noteFailure(j)
	}
	if errors.Is(err, errOverdue) {
		return nil, &Error{Kind: Disabled, JVM: j.String(),
			Text: "it opened no attach socket after SIGQUIT: start it with -XX:+StartAttachListener, without -XX:+DisableAttachMechanism"}
	}
	return conn, err
}

// maySummon returns why SIGQUIT must not be sent to a JVM, or nil.
func (c *Client) maySummon(j JVM) error {
	if last, ok := c.lastFailure(j); ok {
		return &Error{Kind: Disabled, JVM: j.String(), Text: fmt.Sprintf("it opened no attach socket after SIGQUIT %v ago: the next SIGQUIT follows after %v",
			time.Since(last).Round(time.Second), retryAfter)}
	}
	cmdline, err := readProc(j.host, "cmdline")
	if err != nil {
		return err
	}
	environ, _ := readProc(j.host, "environ")
	if attachDisabled(cmdline, environ) {
		return &Error{Kind: Disabled, JVM: j.String(), Text: "it was started with -XX:+DisableAttachMechanism: remove that flag"}
	}
	return nil
}

// createTrigger creates the file that makes SIGQUIT a request to attach: in the JVM's working
// directory or, if that fails, in its /tmp, which is the order in which HotSpot looks. The file
// must belong to the JVM's user. An existing file, left behind or created by another process that
// attaches, can be used too.
func (j JVM) createTrigger() (remove func(), err error) {
	name := fmt.Sprintf(".attach_pid%d", j.PID)
	for _, place := range []string{"", "/tmp"} {
		var dir int
		if dir, err = openDirOf(j.host, place); err != nil {
			continue
		}
		if err = j.createIn(dir, name); err == nil {
			return func() {
				_ = unix.Unlinkat(dir, name, 0)
				unix.Close(dir)
			}, nil
		}
		unix.Close(dir)
	}
	return nil, err
}

func (j JVM) createIn(dir int, name string) error {
	fd, err := unix.Openat(dir, name, unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err == unix.EEXIST {
		var st unix.Stat_t
		if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil || st.Uid == j.uid {
			return err
		}
		return fmt.Errorf("%s of uid %d is in the way, remove it: %w", name, st.Uid, err)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if os.Geteuid() != int(j.uid) {
		if err := unix.Fchown(fd, int(j.uid), int(j.gid)); err != nil {
			_ = unix.Unlinkat(dir, name, 0)
			return fmt.Errorf("give %s to uid %d: %w", name, j.uid, err)
		}
	}
	return nil
}

// hasSocket reports whether the JVM has opened a socket in the meantime, because another process
// made it listen.
func (c *Client) hasSocket(j JVM, stale inode) bool {
	s, err := c.open(j)
	if err != nil {
		return false
	}
	defer s.close()
	return s.id != stale
}

// await waits for the socket to appear and connects to it.
func (c *Client) await(ctx context.Context, j JVM) (*conn, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause/5) {
		s, err := c.open(j)
		if err == nil {
			var conn *conn
			conn, err = s.dial(ctx, 0)
			s.close()
			if err == nil {
				return conn, nil
			}
		}
		if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ECONNREFUSED) {
			return nil, err
		}
		if !c.Alive(j) {
			return nil, unix.ESRCH
		}
		if err := retry.Sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// noteFailure records that attaching to this run of a JVM failed.
func (c *Client) noteFailure(j JVM) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed[j.ID] = time.Now()
}

// lastFailure returns when attaching to this run last failed, if that was within
// retryAfter.
func (c *Client) lastFailure(j JVM) (last time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, last := range c.failed {
		if time.Since(last) > retryAfter {
			delete(c.failed, id)
		}
	}
	last, ok = c.failed[j.ID]
	return last, ok
}
