package attach

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/mark"
)

// The ways in which a JVM may have ended, according to its socket.
const (
	Exited = mark.Exited
	Killed = mark.Killed
)

// orderlyEnd is how long a JVM may take to end after it has removed its socket: the kernel may have
// to free a large heap.
const orderlyEnd = 10 * time.Second

// Witness observes how one run of a JVM ends. It is not safe for concurrent use. Close it after
// use.
type Witness struct {
	client *Client
	jvm    JVM

	// socket is the socket of a visible process. Its path leads through /proc/PID/root and is
	// invalid once the process has ended, but the descriptor still shows whether the socket has a
	// name. Nil: no socket was seen.
	socket *socket

	// lost is when the process was first seen to run while its socket had no name. Zero: the socket
	// has a name. If the JVM runs for longer than orderlyEnd after that, it is not about to end:
	// another process has removed the socket.
	lost  time.Time
	stray bool

	pidfd int // of the process; negative: the process is not visible, or the kernel has no such descriptors
}

// Witness returns a Witness for a run of a JVM that listens.
func (c *Client) Witness(j JVM) *Witness {
	w := &Witness{client: c, jvm: j, pidfd: -1}
	if j.host == 0 {
		return w
	}
	if fd, err := unix.PidfdOpen(j.host, 0); err == nil {
		w.pidfd = fd
	}
	if !c.Alive(j) { // the descriptor may be of another process with the same ID
		w.Close()
	}
	w.renew()
	return w
}

// Close frees the descriptors. One of them keeps the file system of the JVM's /tmp busy.
func (w *Witness) Close() {
	w.closeSocket()
	if w.pidfd >= 0 {
		unix.Close(w.pidfd)
		w.pidfd = -1
	}
}

func (w *Witness) closeSocket() {
	if w.socket != nil {
		w.socket.close()
		w.socket = nil
	}
}

// Status returns the exit code of a run that is gone, or the signal that ended it. ok is false if the
// process was not visible, if its parent has not waited for it yet, or if the kernel is older than
// Linux 6.15. Call it before Close.
func (w *Witness) Status() (status unix.WaitStatus, ok bool) {
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	if w.pidfd < 0 || unix.IoctlPidfdInfo(w.pidfd, &info) != nil || info.Mask&unix.PIDFD_INFO_EXIT == 0 {
		return 0, false
	}
	return unix.WaitStatus(info.Exit_code), true
}

// Gone reports whether the run has ended, and how: [Exited], [Killed], or "" if that cannot be
// determined. It connects to a JVM whose process is not visible, does not wait, and sends nothing.
// Call it every few seconds, so that it notices a socket that the JVM creates later.
func (w *Witness) Gone() (how string, gone bool) {
	if w.jvm.host == 0 {
		return w.client.goneSocket(w.jvm)
	}
	if w.client.Alive(w.jvm) {
		w.renew()
		return "", false
	}
	named, err := w.named()
	switch {
	case err != nil || w.stray:
		return "", true
	case named:
		return Killed, true
	}
	return Exited, true
}

// goneSocket is Gone for a JVM that is known only by its socket.
func (c *Client) goneSocket(j JVM) (how string, gone bool) {
	s, err := j.openSocket(c.cfg.Tmp)
	if err != nil {
		return Exited, errors.Is(err, unix.ENOENT)
	}
	defer s.close()
	if s.id != j.socket {
		return "", true // another JVM has the process ID by now
	}
	conn, err := s.connect()
	if err == nil {
		conn.Close()
		return "", false
	}
	return Killed, err == unix.ECONNREFUSED
}

// renew looks for the socket of a running process, unless the Witness already has a socket that has
// a name.
func (w *Witness) renew() {
	if named, err := w.named(); err == nil && named {
		w.lost, w.stray = time.Time{}, false
		return
	}
	if s, err := w.client.open(w.jvm); err == nil {
		if s.answers(w.jvm) {
			w.closeSocket()
			w.socket, w.lost, w.stray = s, time.Time{}, false
			return
		}
		s.close()
	}
	if w.lost.IsZero() {
		w.lost = time.Now()
	}
	w.stray = time.Since(w.lost) > orderlyEnd
}

var errNoSocket = errors.New("no socket was seen")

// named reports whether the socket still has a name.
func (w *Witness) named() (bool, error) {
	if w.socket == nil {
		return false, errNoSocket
	}
	var st unix.Statx_t
	if err := statx(w.socket.fd, "", unix.AT_EMPTY_PATH, &st); err != nil {
		return false, err
	}
	return st.Nlink > 0, nil
}
