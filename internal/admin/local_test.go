package admin

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Where another directory takes the place of the destination, so does another address.
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
			t.Errorf("the answer is %+v", st)
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
		t.Errorf("a peer that is refused: %v", err)
	}
	s.ListenAt(second)
	if err := ask(second, Client{}); err != nil {
		t.Error(err)
	}
	if err := ask(first, Client{}); !errors.Is(err, ErrUnreachable) {
		t.Errorf("for the former destination: %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	s.ListenAt(first)
	for _, addr := range []string{first, second} {
		if err := ask(addr, Client{}); !errors.Is(err, ErrUnreachable) {
			t.Errorf("after the end: %v", err)
		}
	}
}
