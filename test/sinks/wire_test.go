package sinks

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A wire carries TCP connections to a server and simulates the faults of networks.
type wire struct {
	listener net.Listener
	to       string
	fault    atomic.Pointer[string] // one of the faults below, or passes
	conns    sync.Map               // net.Conn → nothing
	all      sync.WaitGroup
}

// The faults of a wire.
const (
	deaf    = "accepts connections but forwards nothing"
	clipped = "cuts a connection after 20 KB of the request"
	mute    = "cuts a connection in the answer to a large request"
	thin    = "carries 1 KB a second"
)

func newWire(t testing.TB, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, to: to}
	w.is(passes)
	w.all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.all.Go(func() { w.carry(c) })
		}
	})
	t.Cleanup(func() { l.Close(); w.cut(); w.all.Wait() })
	return w
}

func (w *wire) address() string { return w.listener.Addr().String() }

// is sets the fault of the wire for new connections, and cuts all open connections.
func (w *wire) is(fault string) {
	w.fault.Store(&fault)
	w.cut()
}

func (w *wire) cut() {
	w.conns.Range(func(c, _ any) bool { c.(net.Conn).Close(); return true })
}

func (w *wire) carry(near net.Conn) {
	w.conns.Store(near, nil)
	defer w.conns.Delete(near)
	defer near.Close()
	far, err := net.DialTimeout("tcp", w.to, time.Second)
	if err != nil {
		return
	}
	w.conns.Store(far, nil)
	defer w.conns.Delete(far)
	defer far.Close()
	fault := *w.fault.Load()
	var sent atomic.Int64
	w.all.Go(func() {
		defer near.Close()
		defer far.Close()
		w.pass(near, far, fault, func(n int) bool { return fault == mute && sent.Load() > 20_000 })
	})
	w.pass(far, near, fault, func(n int) bool { return sent.Add(int64(n)) > 20_000 && fault == clipped })
}

// pass carries bytes from one side to the other until the connection ends or over returns true.
func (w *wire) pass(to io.Writer, from io.Reader, fault string, over func(n int) bool) {
	buf := make([]byte, 4<<10)
	for {
		n, err := from.Read(buf)
		if err != nil || over(n) {
			return
		}
		switch fault {
		case deaf:
			continue
		case thin:
			time.Sleep(time.Duration(n) * time.Millisecond)
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}
