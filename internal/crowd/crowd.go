// Package crowd keeps strangers from taking a server's memory, its descriptors,
// or its place: a listener with a largest number of open connections, which
// closes the idlest one when another comes.
//
// A listener that stops accepting when it is full (as LimitListener of
// golang.org/x/net/netutil does) bounds the same, but whoever holds its
// connections locks everybody else out: a kubelet's probe would wait in the
// kernel behind thousands of strangers, each of whom stays for as long as the
// server's deadlines allow, and then fail. Here a newcomer is always accepted,
// and has to outlive only as many further ones as the listener holds, which a
// probe does: it sends its request at once.
package crowd

import (
	"container/list"
	"net"
	"sync"
)

// Limit returns a listener that keeps at most so many connections of l open.
// When one more comes, the one is closed that has sent nothing for the longest
// time, whatever is being answered on it. Most must be at least 1.
func Limit(l net.Listener, most int) net.Listener {
	return &listener{Listener: l, most: most}
}

type listener struct {
	net.Listener
	most int

	mu   sync.Mutex
	open list.List // of *conn, the idlest first
}

// Accept waits for a connection, and makes room for it.
func (l *listener) Accept() (net.Conn, error) {
	inner, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: inner, listener: l}
	if idlest := l.add(c); idlest != nil {
		_ = idlest.Close() // its reader finds out, and has nobody to tell
	}
	return c, nil
}

// add enters c, and returns the connection that has to go for it, if one has.
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

// Read reads, and with the first byte the connection becomes the least idle.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.listener.mu.Lock()
		c.listener.open.MoveToBack(c.place) // nothing, if it was closed
		c.listener.mu.Unlock()
	}
	return n, err
}

// Close makes room for another connection.
func (c *conn) Close() error {
	c.listener.mu.Lock()
	c.listener.open.Remove(c.place) // nothing, the second time
	c.listener.mu.Unlock()
	return c.Conn.Close()
}
