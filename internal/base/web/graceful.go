package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// ErrHandler is why a [Stopper] gave up waiting.
var ErrHandler = errors.New("a request handler does not return")

// Stopper ends one HTTP server: it lets requests in progress finish, cuts off clients that take
// too long, and waits for the goroutines that serve them. Make one with [NewStopper]; the zero
// value is not usable.
type Stopper struct {
	server *http.Server
	within time.Duration
	conns  sync.WaitGroup // the server's goroutines, one for each connection
}

// NewStopper returns a Stopper for the server. Call it before the server serves, and do not
// change the server's ConnState. within, which must be more than 0, is how long requests in
// progress may take to finish, and then how long their handlers may take to return.
func NewStopper(server *http.Server, within time.Duration) *Stopper {
	s := &Stopper{server: server, within: within}
	server.ConnState = s.count
	return s
}

// Serve calls serve, which runs the server. When end is closed, Serve stops the server. The
// error says why serve returned before that, or is the error of [Stopper.Stop].
func (s *Stopper) Serve(end <-chan struct{}, serve func() error) error {
	served := make(chan error, 1)
	go func() { served <- serve() }()
	select {
	case err := <-served:
		return errors.Join(err, s.Stop())
	case <-end:
	}
	err := s.Stop()
	<-served // ErrServerClosed, at once
	return err
}

// Stop closes the listener, lets requests in progress finish, closes every connection and waits
// for their goroutines. A client that holds its connection delays Stop by at most the time
// within. A handler that is still running then is abandoned after the same time again, and the
// error is [ErrHandler]. There is no other error. A hijacked connection belongs to its handler:
// Stop neither closes it nor waits for it.
func (s *Stopper) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.within)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		// The deadline has passed because some client is slow. That client is cut off.
		s.server.Close()
	}
	gone := make(chan struct{})
	go func() { s.Wait(); close(gone) }()
	select {
	case <-gone:
		return nil
	case <-time.After(s.within):
		return ErrHandler
	}
}

// Wait waits without a limit for the handlers that Stop has abandoned.
func (s *Stopper) Wait() { s.conns.Wait() }

// count counts the goroutines of the server, so that Stop can wait for them: Shutdown and
// Close close connections but do not wait.
func (s *Stopper) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.conns.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.conns.Done()
	}
}
