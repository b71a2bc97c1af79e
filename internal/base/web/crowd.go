package web

import (
	"container/list"
	"net"
	"sync"
)

// Limit protects a server's memory, descriptors and reachability from clients that hold
// connections. It returns a listener that keeps at most the given number of connections
// of l open. When another client connects, the listener closes the connection
// that has received nothing for the longest time, even if the server is
// answering it. most must be at least 1.
//
// A listener that stops accepting when it is full (like LimitListener of
// golang.org/x/net/netutil) has the same bound, but there, clients that hold their connections
// lock out all others. A kubelet's probe would wait in the kernel's queue after thousands of
// clients, each of which stays as long as the server's deadlines allow, and then time out. This
// listener always accepts a new connection. To make room, it closes a connection only
// if every other open connection has arrived or received data more recently. A probe survives,
// because it sends its request at once.
func Limit(l net.Listener, most int) net.Listener {
	return &listener{Listener: l, most: most}
}

type listener struct {
	net.Listener
	most int

	mu   sync.Mutex
	open list.List // of *conn, idlest first
}

// Accept waits for a connection and makes room for it.
func (l *listener) Accept() (net.Conn, error) {
	inner, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: inner, listener: l}
	if idlest := l.add(c); idlest != nil {
		_ = idlest.Close() // the reader of that connection gets an error
	}
	return c, nil
}

// add adds c and returns the connection to close for it, if any.
func (l *listener) add(c *conn) (idlest *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open.Len() >= l.most {
		idlest = l.open.Front().Value.(*conn)
	}
	c.place = l.open.PushBack(c)
	return idlest
}

type conn struct {
	net.Conn
	listener *listener
	place    *list.Element
}

// Read reads from the connection. Any data makes the connection the least idle one.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.listener.mu.Lock()
		c.listener.open.MoveToBack(c.place) // no effect if the connection was closed
		c.listener.mu.Unlock()
	}
	return n, err
}

// Close makes room for another connection.
func (c *conn) Close() error {
	c.listener.mu.Lock()
	c.listener.open.Remove(c.place) // no effect the second time
	c.listener.mu.Unlock()
	return c.Conn.Close()
}
