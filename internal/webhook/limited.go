package webhook

import (
	"net"
	"sync"
)

// limited is a listener with a largest number of open connections. Further ones
// wait in the kernel until others end.
type limited struct {
	net.Listener
	tokens chan struct{}
	closed chan struct{}
	once   sync.Once
}

func newLimited(l net.Listener, most int) *limited {
	return &limited{Listener: l, tokens: make(chan struct{}, most), closed: make(chan struct{})}
}

// Accept waits for a connection and for room for it.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.tokens <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.tokens
		return nil, err
	}
	return &limitedConn{Conn: c, release: sync.OnceFunc(func() { <-l.tokens })}, nil
}

// Close ends Accept, also where it waits for room.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	release func()
}

// Close makes room for another connection.
func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
