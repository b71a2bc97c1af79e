package admin

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/test/lab"
)

// When another directory becomes the destination, the server listens at that directory's address instead of the old one.
func TestProcessesOfTheMachineAskWithoutAPort(t *testing.T) {
	first, second := "@"+t.TempDir(), "@"+t.TempDir()
	s, err := New(Config{Listen: Off}, prometheus.NewRegistry(), Answers{Status: func() any { return Status{Version: "1"} }}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	ask := func(addr string, c Client) error {
		t.Helper()
		c.Addr, c.Timeout = addr, time.Minute
		_, st, err := c.Status(context.Background())
		if err == nil && st.Version != "1" {
			t.Errorf(`the answer is %+v, want the version "1"`, st)
		}
		return err
	}
	s.ListenAt(first)
	s.ListenAt(first)
	if err := ask(first, Client{}); err != nil {
		t.Error(err)
	}
	no := errors.New("it is another one")
	if err := ask(first, Client{Check: func(net.Conn) error { return no }}); !errors.Is(err, no) || errors.Is(err, ErrUnreachable) {
		t.Errorf("a peer that is refused gives the error %v; want %v, and not %v", err, no, ErrUnreachable)
	}
	s.ListenAt(second)
	if err := ask(second, Client{}); err != nil {
		t.Error(err)
	}
	if err := ask(first, Client{}); !errors.Is(err, ErrUnreachable) {
		t.Errorf("for the former destination: %v, want ErrUnreachable", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	s.ListenAt(first)
	for _, addr := range []string{first, second} {
		if err := ask(addr, Client{}); !errors.Is(err, ErrUnreachable) {
			t.Errorf("after the end: %v, want ErrUnreachable", err)
		}
	}
}

// A killed sidecar keeps the address as long as a stalled disk holds its last call. The
// next sidecar listens once the address is free.
func TestATakenLocalAddressIsListenedAtOnceItIsFree(t *testing.T) {
	addr := "@" + t.TempDir()
	before, err := net.Listen("unix", addr)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Listen: Off}, prometheus.NewRegistry(), Answers{Status: func() any { return Status{Version: "1"} }}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s.ListenAt(addr)
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	c := Client{Addr: addr, Timeout: time.Minute}
	lab.Eventually(t, lab.Patience, "the server answers", func() bool {
		_, st, err := c.Status(context.Background())
		return err == nil && st.Version == "1"
	})
	ends(t, s)
	if _, _, err := c.Status(context.Background()); !errors.Is(err, ErrUnreachable) {
		t.Errorf("after the end: %v, want ErrUnreachable", err)
	}
}

// A sidecar ends while another process still has the address.
func TestAServerEndsWhileItsLocalAddressIsTaken(t *testing.T) {
	addr := "@" + t.TempDir()
	holder, err := net.Listen("unix", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	s, err := New(Config{Listen: Off}, prometheus.NewRegistry(), Answers{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s.ListenAt(addr)
	ends(t, s)
}

// ends fails the test unless Run returns without an error once its context has ended.
func ends(t *testing.T, s *Server) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Run(ctx); err != nil {
		t.Error(err)
	}
}
