package attach

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/base/retry"
)

const (
	firstPause = time.Millisecond // between two attempts; doubled each time
	lastPause  = 50 * time.Millisecond

	// refusedFor is how long ECONNREFUSED is retried: a JVM that starts or restarts its
	// listener refuses connections for a moment.
	refusedFor = 300 * time.Millisecond
)

// inode identifies a file for its whole life. born distinguishes a file from an earlier file with
// the same inode number: it is the time of birth in nanoseconds, or the time of the last change if
// the file system does not record births. (HotSpot changes its socket only before it gives the
// socket its final name.)
type inode struct {
	dev, ino uint64
	born     int64
}

// young reports whether the file is less than refusedFor old. If its time is in the future, the
// clock was set back, and its age is unknown.
func (i inode) young() bool {
	age := time.Since(time.Unix(0, i.born))
	return age >= 0 && age < refusedFor
}

func (i inode) String() string { return fmt.Sprintf("%d:%d:%d", i.dev, i.ino, i.born) }

// socket is an open attach socket. Its descriptor cannot block (O_PATH), and refers to the inode
// even if the name changes.
type socket struct {
	fd       int
	id       inode
	uid, gid uint32
}

func (s *socket) close() { unix.Close(s.fd) }

// newSocket takes ownership of an O_PATH descriptor. If the file is not a socket, or its user is
// not accepted by owner, newSocket closes the descriptor and returns an *Error without a JVM.
func newSocket(fd int, owner func(uid uint32) bool) (s *socket, err error) {
	defer func() {
		if err != nil {
			unix.Close(fd)
		}
	}()
	var st unix.Statx_t
	if err := statx(fd, "", unix.AT_EMPTY_PATH, &st); err != nil {
		return nil, fmt.Errorf("look at attach socket: %w", err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, &Error{Kind: NotASocket, Text: fmt.Sprintf("in place of the attach socket there is a %s: remove it", typeName(st.Mode))}
	}
	if !owner(st.Uid) {
		return nil, &Error{Kind: NotPermitted, Text: "the attach socket's owner " + whoMay(st.Uid, st.Gid)}
	}
	return &socket{fd: fd, id: inodeOf(&st), uid: st.Uid, gid: st.Gid}, nil
}

// ours reports whether a file owned by uid can belong to a JVM that accepts our connections.
func ours(uid uint32) bool { return os.Geteuid() == 0 || int(uid) == os.Geteuid() }

func typeName(mode uint16) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return "regular file"
	case unix.S_IFLNK:
		return "symbolic link"
	case unix.S_IFDIR:
		return "directory"
	case unix.S_IFIFO:
		return "FIFO"
	}
	return "device"
}

// statx asks only for cached data, because a network file system whose server hangs must not block
// us.
func statx(dir int, name string, flags int, st *unix.Statx_t) error {
	return unix.Statx(dir, name, flags|unix.AT_STATX_DONT_SYNC, unix.STATX_BASIC_STATS|unix.STATX_BTIME, st)
}

func inodeOf(st *unix.Statx_t) inode {
	born := st.Ctime
	if st.Mask&unix.STATX_BTIME != 0 {
		born = st.Btime
	}
	return inode{dev: unix.Mkdev(st.Dev_major, st.Dev_minor), ino: st.Ino, born: born.Sec*1e9 + int64(born.Nsec)}
}

// conn is a connection, and the credentials of its peer.
type conn struct {
	*os.File
	peer unix.Ucred
}

// dial connects. While the backlog is full, dial waits. When ctx ends, it returns the cause of ctx.
// It retries a refused connection until grace is over.
func (s *socket) dial(ctx context.Context, grace time.Duration) (*conn, error) {
	believe := time.Now().Add(grace)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		c, err := s.connect()
		wait := err == unix.EAGAIN || err == unix.ECONNREFUSED && time.Now().Before(believe)
		if !wait {
			return c, err
		}
		if err := retry.Sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// connect connects once, without waiting. It uses the descriptor, so that neither a replaced name
// nor the limit of 108 bytes on a socket address matters.
func (s *socket) connect() (*conn, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("make socket: %w", err)
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: kernel.NameOf(s.fd)}); err != nil {
		unix.Close(fd)
		return nil, err
	}
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("read the credentials of the listening process: %w", err)
	}
	return &conn{File: os.NewFile(uintptr(fd), "attach socket"), peer: *peer}, nil
}

// answers reports whether the kernel shows that the JVM's own process listens on the socket. It
// connects once, does not wait, and sends nothing. A full backlog implies a listener.
func (s *socket) answers(j JVM) bool {
	conn, err := s.connect()
	if err != nil {
		return err == unix.EAGAIN
	}
	defer conn.Close()
	return j.mustBe(conn.peer) == nil
}
