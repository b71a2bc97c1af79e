package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxClients is how many connections are served at a time; further connections are closed. A
	// process that takes all of them blocks commands for requestTimeout.
	maxClients = 4

	// requestTimeout bounds the reading of a request and, separately, the writing of the reply.
	requestTimeout = 2 * time.Second
)

// server answers requests on a socket, one for each connection.
type server struct {
	listener *net.UnixListener
	socket   fs.FileInfo
	answer   func(context.Context, Request) Reply
	cancel   context.CancelFunc
	work     sync.WaitGroup // waits for the goroutines that accept and answer
}

// startServer serves l until stop is called.
func startServer(l *net.UnixListener, socket fs.FileInfo, answer func(context.Context, Request) Reply) *server {
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{listener: l, socket: socket, answer: answer, cancel: cancel}
	s.work.Go(func() { s.accept(ctx) })
	return s
}

// stop ends the server and the answers in progress.
func (s *server) stop() {
	s.listener.Close()
	s.cancel()
	s.work.Wait()
}

func (s *server) accept(ctx context.Context) {
	seats := make(chan struct{}, maxClients)
	for {
		c, err := s.listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			select { // most likely, no descriptor is free
			case <-ctx.Done():
				return
			case <-time.After(KeepInterval):
			}
			continue
		}
		select {
		case seats <- struct{}{}:
			s.work.Go(func() {
				defer func() { <-seats }()
				s.serve(ctx, c)
			})
		default:
			c.Close()
		}
	}
}

// serve answers one request.
func (s *server) serve(ctx context.Context, c net.Conn) {
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Now()) })() // no further request is read
	req, err := readRequest(c)
	var r Reply
	if err == nil {
		req.By = peer(c)
		err = req.check()
	}
	if err != nil {
		r = Failed(err)
	} else {
		if c.SetWriteDeadline(time.Now().Add(requestTimeout)) == nil {
			_, _ = c.Write([]byte{'\n'}) // see exchange; if this write fails, the write below fails too
		}
		r = s.answer(ctx, req)
	}
	text, err := json.Marshal(r)
	if err == nil && len(text) > maxReply {
		err = fmt.Errorf("the answer has %d bytes, at most %d are sent", len(text), maxReply)
	}
	if err != nil {
		text, _ = json.Marshal(Failed(err)) // a reply of strings can always be encoded
	}
	if c.SetWriteDeadline(time.Now().Add(requestTimeout)) == nil {
		_, _ = c.Write(text) // if this fails, the client has gone or does not read
	}
}

// peer names the process at the other end of a connection: its user and, if the process is visible
// here, its process ID.
func peer(c net.Conn) string {
	conn, ok := c.(*net.UnixConn)
	if !ok {
		return ""
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return ""
	}
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	switch {
	case err != nil || failed != nil:
		return ""
	case cred.Pid <= 0:
		return fmt.Sprintf("uid %d", cred.Uid)
	}
	return fmt.Sprintf("uid %d, pid %d", cred.Uid, cred.Pid)
}

// readRequest reads one line of at most maxRequest bytes.
func readRequest(c net.Conn) (Request, error) {
	var req Request
	if err := c.SetReadDeadline(time.Now().Add(requestTimeout)); err != nil {
		return req, fmt.Errorf("read the request: %w", err)
	}
	line, err := bufio.NewReader(io.LimitReader(c, maxRequest)).ReadBytes('\n')
	if err != nil {
		return req, fmt.Errorf("read the request, a line of at most %d bytes: %w", maxRequest, err)
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&req); err != nil {
		return req, fmt.Errorf("decode the request: %w", err)
	}
	return req, nil
}
