package admin

import (
	"net"
	"sync"
	"time"

	"github.com/ullage/ullage/internal/base/web"
)

// localConnections is how many connections may be open at the local address at once.
const localConnections = 4

// local is the listener for processes that read the durable copy. It serves even if
// Config.Listen is [Off]: without it, a reader cannot find out whether the copy is complete.
type local struct {
	mu       sync.Mutex
	addr     string        // where to listen
	listener net.Listener  // nil: no listener is open
	ended    chan struct{} // closed by stop
	work     sync.WaitGroup
}

// ListenAt lets processes on the same machine ask for the status at an address in the
// abstract namespace of Unix sockets, which begins with @. It replaces the listener at
// another address. It may be called from any goroutine, before and during Run.
//
// A killed sidecar keeps the address until its last call to a stalled disk returns. So if another
// process has the address, ListenAt retries every takenPoll.
func (s *Server) ListenAt(addr string) {
	l := &s.local
	l.mu.Lock()
	defer l.mu.Unlock()
	if addr == l.addr || l.stopped() {
		return
	}
	l.close()
	l.addr = addr
	if err := s.listenLocally(); err != nil {
		// messages.md#the-destination: `ullage check` and `ullage logs --gaps` cannot ask this
		// sidecar what is not in the copy yet; they report that they could not. Another process on
		// the machine has the socket's name: a killed sidecar keeps it until its last call into the
		// destination returns. ullage retries each second.
		s.log.Warn("listening for readers of the durable copy failed", "address", addr, "error", err,
			"hint", "until a retry succeeds, 'ullage check' and 'ullage logs --gaps' cannot ask this sidecar what is not in the copy yet")
		l.work.Go(func() { s.retryLocally(addr) })
	}
}

// listenLocally opens the listener and serves it. The caller holds mu.
func (s *Server) listenLocally() error {
	l := &s.local
	listener, err := net.Listen("unix", l.addr)
	if err != nil {
		return err
	}
	l.listener = web.Limit(listener, localConnections)
	serve := l.listener
	l.work.Go(func() { _ = s.http.Serve(serve) }) // until it is closed
	return nil
}

// retryLocally listens as soon as the address is free, unless another address is wanted or a later
// call of ListenAt for the same address has opened a listener.
func (s *Server) retryLocally(addr string) {
	l := &s.local
	again := time.NewTicker(takenPoll)
	defer again.Stop()
	try := func() (done bool) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.addr != addr || l.listener != nil || l.stopped() {
			return true
		}
		if s.listenLocally() != nil {
			return false
		}
		// messages.md#the-destination: A retry has succeeded.
		s.log.Info("now listening for readers of the durable copy", "address", addr)
		return true
	}
	for !try() {
		select {
		case <-l.ended:
			return
		case <-again.C:
		}
	}
}

// close closes the listener, if one is open. The caller holds mu.
func (l *local) close() {
	if l.listener != nil {
		_ = l.listener.Close()
		l.listener = nil
	}
}

// stopped reports whether stop was called. The caller holds mu.
func (l *local) stopped() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// stop closes the listener permanently and waits for the goroutines that serve it or that retry to
// open it.
func (l *local) stop() {
	l.mu.Lock()
	if !l.stopped() {
		close(l.ended)
	}
	l.close()
	l.mu.Unlock()
	l.work.Wait()
}
