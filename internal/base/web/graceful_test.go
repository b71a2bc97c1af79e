package web

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ullage/ullage/test/lab"
)

// serve runs a server until the test ends, and checks that it leaves no goroutine.
func serve(t *testing.T, within time.Duration, handler http.HandlerFunc) (addr string, s *Stopper) {
	t.Helper()
	t.Cleanup(func() { goleak.VerifyNone(t) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler}
	s = NewStopper(server, within)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve: %v, want ErrServerClosed", err)
		}
	})
	return l.Addr().String(), s
}

// send connects and sends the text.
func send(t *testing.T, addr, text string) net.Conn {
	t.Helper()
	c := dial(t, addr)
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

const request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

func TestARequestUnderWayGetsItsAnswer(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	addr, s := serve(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-release
		_, _ = io.WriteString(w, "done")
	})
	c := send(t, addr, request)
	<-asked
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop() }()
	for { // until no other client is let in
		other, err := net.Dial("tcp", addr)
		if err != nil {
			break
		}
		other.Close()
		time.Sleep(time.Millisecond)
	}
	select {
	case err := <-stopped:
		t.Errorf("Stop returned %v while a request was under way, want it to wait", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	if answer, err := io.ReadAll(c); err != nil || !strings.HasSuffix(string(answer), "done") {
		t.Errorf(`the answer: %q, %v, want "done" at its end`, answer, err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Stop returned %v, want no error", err)
	}
}

func TestClientsThatHoldTheirConnectionsAreCutOff(t *testing.T) {
	const within = time.Second
	asked := make(chan struct{}, 3)
	addr, s := serve(t, within, func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Method == "GET" {
			_, _ = w.Write(make([]byte, 32<<20)) // more than the sockets can buffer
		}
	})
	clients := map[string]net.Conn{ // accepted in this order
		"says nothing":  send(t, addr, ""),
		"half a header": send(t, addr, "GET / HTTP/1.1\r\nHost: x\r\n"),
		"half a body":   send(t, addr, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"),
		"does not read": send(t, addr, request),
		"has asked":     send(t, addr, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"),
	}
	for range cap(asked) {
		<-asked
	}
	begin := time.Now()
	if err := s.Stop(); err != nil {
		t.Errorf("Stop returned %v, want no error", err)
	}
	if d := time.Since(begin); d < within {
		t.Errorf("Stop took %s, want at least %s", d, within)
	}
	goleak.VerifyNone(t) // while the clients' ends are open
	for name, c := range clients {
		if err := c.SetReadDeadline(time.Now().Add(lab.Patience)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the client is still connected, want it cut off", name)
		}
	}
}

func TestAHandlerThatDoesNotReturnIsLeftBehind(t *testing.T) {
	const within = 50 * time.Millisecond
	asked, release := make(chan struct{}), make(chan struct{})
	addr, s := serve(t, within, func(http.ResponseWriter, *http.Request) { close(asked); <-release })
	c := send(t, addr, request)
	<-asked
	begin := time.Now()
	if err := s.Stop(); !errors.Is(err, ErrHandler) {
		t.Errorf("Stop: %v, want %v", err, ErrHandler)
	}
	if d := time.Since(begin); d < 2*within {
		t.Errorf("Stop waited only %s, want at least %s", d, 2*within)
	}
	if _, err := io.Copy(io.Discard, c); err != nil {
		t.Errorf("the client's read ended with %v, want no error", err)
	}
	waited := make(chan struct{})
	go func() { s.Wait(); close(waited) }()
	select {
	case <-waited:
		t.Error("Wait returned before the handler, want it to wait")
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	<-waited
}

func TestAHijackedConnectionIsNotWaitedFor(t *testing.T) {
	hijacked := make(chan net.Conn, 1)
	addr, s := serve(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
		}
		hijacked <- c
	})
	c := send(t, addr, request)
	mine := <-hijacked
	if err := s.Stop(); err != nil {
		t.Errorf("Stop returned %v, want no error", err)
	}
	if _, err := io.WriteString(mine, "still here"); err != nil {
		t.Errorf("the connection was closed: %v", err)
	}
	mine.Close()
	if text, err := io.ReadAll(c); err != nil || string(text) != "still here" {
		t.Errorf(`the client read %q, error %v, want "still here"`, text, err)
	}
}

func TestStopOfAServerThatNobodyUsesIsImmediate(t *testing.T) {
	server := &http.Server{}
	if err := NewStopper(server, time.Minute).Stop(); err != nil {
		t.Error(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) { // closes l
		t.Errorf("Serve: %v, want ErrServerClosed", err)
	}
}
