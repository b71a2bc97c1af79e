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
}

// Witness returns a Witness for a run of a JVM that listens.
func (c *Client) Witness(j JVM) *Witness {
	w := &Witness{client: c, jvm: j}
	if j.host != 0 {
		w.renew()
	}
	return w
}

// Close frees the descriptor, which keeps the file system of the JVM's /tmp busy.
func (w *Witness) Close() {
	if w.socket != nil {
		w.socket.close()
		w.socket = nil
	}
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
			w.Close()
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
