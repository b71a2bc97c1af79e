package web

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// echo accepts connections of a limited listener and sends back what they send.
func echo(t *testing.T, most int) (addr string, l net.Listener) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l = Limit(inner, most)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			})
		}
	})
	t.Cleanup(func() { l.Close(); work.Wait() })
	return inner.Addr().String(), l
}

// says sends a byte and reports whether it comes back.
func says(c net.Conn) bool {
	_ = c.SetDeadline(time.Now().Add(lab.Patience))
	if _, err := c.Write([]byte("x")); err != nil {
		return false
	}
	_, err := io.ReadFull(c, make([]byte, 1))
	return err == nil
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestANewcomerTakesThePlaceOfTheIdlest(t *testing.T) {
	addr, _ := echo(t, 3)
	var conns []net.Conn
	for range 3 {
		conns = append(conns, dial(t, addr))
		if !says(conns[len(conns)-1]) {
			t.Fatal("a connection was refused although there was room")
		}
	}
	if !says(conns[0]) { // now the second is the idlest
		t.Fatal("an open connection was closed")
	}
	if !says(dial(t, addr)) {
		t.Error("the newcomer got no answer, want its byte back")
	}
	_ = conns[1].SetReadDeadline(time.Now().Add(lab.Patience))
	if _, err := conns[1].Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the idlest connection was not closed: its read returned %v", err)
	}
	for _, i := range []int{0, 2} {
		if !says(conns[i]) {
			t.Errorf("connection %d was closed, want only the idlest to be closed", i)
		}
	}
}

func TestOneThatEndsMakesRoom(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Limit(inner, 2).(*listener)
	defer l.Close()
	var accepted []net.Conn
	for range 2 {
		dial(t, inner.Addr().String())
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		accepted = append(accepted, c)
	}
	accepted[0].Close()
	accepted[0].Close() // must not make room a second time
	if n := l.open.Len(); n != 1 {
		t.Errorf("%d connections are open, want 1", n)
	}
}

func TestNoMoreThanTheLimitAreEverOpen(t *testing.T) {
	const most = 4
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Limit(inner, most).(*listener)
	defer l.Close()
	for range 20 * most {
		dial(t, inner.Addr().String())
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if n := l.open.Len(); n > most {
			t.Fatalf("%d connections are open, want %d at most", n, most)
		}
	}
}
