package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/base/statedir"
)

// The socket is in the directory of the saved state. Both sides reach it through a
// descriptor of the directory (/proc/self/fd/N/…): no link can lead out of the
// source, and a long path does not exceed the 108 bytes of an address.

// openStateDir opens the state directory. If the name belongs to anything else, it fails. It does
// not block.
func openStateDir(root *os.Root) (*os.File, error) {
	return root.OpenFile(statedir.Name, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
}

// listen creates a socket and replaces whatever has its name: the socket of a killed process,
// or a file of the application. It does not replace a directory. Only the holder of the lock
// calls listen.
func (s *store) listen() (*net.UnixListener, fs.FileInfo, error) {
	root, err := statedir.CreateRoot(s.source)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	dir, err := openStateDir(root)
	if err != nil {
		return nil, nil, fmt.Errorf("listen for commands: %w", err)
	}
	defer dir.Close()
	const fresh = socketName + ".new"
	inRoot := filepath.Join(statedir.Name, fresh)
	_ = root.Remove(inRoot) // a killed process may have left it; if it cannot be removed, listening fails
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), fresh)})
	if err != nil {
		return nil, nil, fmt.Errorf("listen for commands: %w", err)
	}
	l.SetUnlinkOnClose(false)
	err = root.Chmod(inRoot, 0o600)
	if err == nil {
		err = root.Rename(inRoot, filepath.Join(statedir.Name, socketName))
	}
	var named fs.FileInfo
	if err == nil {
		named, err = root.Lstat(filepath.Join(statedir.Name, socketName))
	}
	if err != nil {
		l.Close()
		return nil, nil, fmt.Errorf("listen for commands: %w", err)
	}
	return l, named, nil
}

// named reports whether the given socket still has the name that other
// processes use.
func (s *store) named(socket fs.FileInfo) bool {
	is, err := os.Lstat(s.path(socketName))
	return err == nil && os.SameFile(is, socket)
}

// removeSocket removes the socket's name if it still belongs to the given
// socket.
func (s *store) removeSocket(socket fs.FileInfo) {
	if !s.named(socket) {
		return
	}
	if root, err := statedir.OpenRoot(s.source); err == nil {
		defer root.Close()
		_ = root.Remove(filepath.Join(statedir.Name, socketName)) // if this fails, a stale socket stays, which is harmless
	}
}

// errNobody reports that there is no socket, or no listener on it, or that the
// listener has closed the connection. A later attempt may succeed.
var errNobody = errors.New("no process answers")

// errClosed reports that the listener has closed the connection: it is ending, or serves
// [maxClients] others.
var errClosed = errors.New("the connection was closed")

// dialTimeout bounds the connect.
const dialTimeout = time.Second

// dial connects to the process that manages the levels.
func (s *store) dial(ctx context.Context) (net.Conn, error) {
	root, err := statedir.OpenRoot(s.source)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir, err := openStateDir(root)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	fd, err := unix.Openat(int(dir.Fd()), socketName, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, errors.New("it is not a socket")
	}
	d := net.Dialer{Timeout: dialTimeout}
	return d.DialContext(ctx, "unix", kernel.NameOf(fd))
}

// ask sends a request to the owner. The application can replace the owner's socket with one of
// its own and answer. So ask bounds the wait, the reply and the decoding, and its callers only
// display the reply.
func (s *store) ask(ctx context.Context, req Request, patience time.Duration) (Reply, error) {
	socket := s.path(socketName)
	conn, err := s.dial(ctx)
	if err != nil {
		return Reply{}, fmt.Errorf("%w at %s: %w", errNobody, socket, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	text, err := exchange(conn, req, patience)
	switch {
	case ctx.Err() != nil:
		return Reply{}, context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return Reply{}, fmt.Errorf("the process that listens at %s does not answer: it may be stopped or waiting for a JVM (%w)", socket, err)
	case len(text) > maxReply:
		return Reply{}, fmt.Errorf("the answer at %s is longer than %d bytes: another program listens there", socket, maxReply)
	case err != nil || len(bytes.TrimSpace(text)) == 0:
		return Reply{}, fmt.Errorf("%w at %s: %w", errNobody, socket, errClosed)
	}
	r, err := decodeReply(text)
	if err != nil {
		return Reply{}, fmt.Errorf("decode the answer at %s: %w", socket, err)
	}
	return r, nil
}

// exchange sends a request and reads the reply. The server sends one byte of white space as soon as
// it has received the request, so that the client soon notices a stopped server.
func exchange(conn net.Conn, req Request, patience time.Duration) ([]byte, error) {
	text, err := json.Marshal(req)
	if err == nil {
		err = conn.SetDeadline(time.Now().Add(min(patience, requestTimeout)))
	}
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(append(text, '\n')); err != nil {
		return nil, err
	}
	in := bufio.NewReader(io.LimitReader(conn, maxReply+1))
	if _, err := in.Peek(1); err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	return io.ReadAll(in)
}
