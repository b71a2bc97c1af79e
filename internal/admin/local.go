package admin

import (
	"net"
	"sync"

	"github.com/ullage/ullage/internal/crowd"
)

// localConnections is how many connections may be open at the local address at once.
const localConnections = 4

// local is the listener for processes that read the durable copy. It serves whatever
// Config.Listen says: a reader that cannot ask cannot tell whether the copy is complete.
type local struct {
	mu       sync.Mutex
	addr     string
	listener net.Listener // nil: none is open
	closed   bool
	crew     sync.WaitGroup
}

// ListenAt lets processes on the same machine ask for the status at an address in the
// abstract namespace of Unix sockets, which begins with @. It replaces the listener at
// another address. It may be called from any goroutine, before and during Run.
func (s *Server) ListenAt(addr string) {
	l := &s.local
	l.mu.Lock()
	defer l.mu.Unlock()
	if addr == l.addr && l.listener != nil || l.closed {
		return
	}
	l.close()
	listener, err := net.Listen("unix", addr)
	if err != nil {
		s.log.Warn("listening for readers of the durable copy failed", "address", addr, "error", err,
			"hint", "'ullage check' and 'ullage cat --gaps' cannot ask this sidecar what is not in the copy yet")
		return
	}
	l.addr, l.listener = addr, crowd.Limit(listener, localConnections)
	serve := l.listener
	l.crew.Go(func() { _ = s.http.Serve(serve) }) // until it is closed
}

// close closes the listener, if one is open. The caller holds mu.
func (l *local) close() {
	if l.listener != nil {
		_ = l.listener.Close()
		l.listener = nil
	}
}

// stop closes the listener for good, and waits for its goroutine.
func (l *local) stop() {
	l.mu.Lock()
	l.closed = true
	l.close()
	l.mu.Unlock()
	l.crew.Wait()
}
