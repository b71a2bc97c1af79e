package levels

import (
	"context"
	"errors"
	"time"
)

// lockPatience is how long a process waits for a lock that another process
// holds: a sidecar that drains needs some seconds.
const lockPatience = 8 * time.Second

// yieldPatience bounds the wait for a command that holds a raise to release the
// lock.
const yieldPatience = 500 * time.Millisecond

// errBusy reports that another process keeps the levels and that the Loop waits
// for it to end.
var errBusy = errors.New("another process still keeps the levels")

// keeper holds the lock and the socket of a Loop.
type keeper struct {
	store  *store
	answer func(context.Context, request) reply
	server *server   // nil: no process can send requests
	owner  bool      // this process has held the lock before
	since  time.Time // since when another process has held the lock

	// err is why this process does not hold the lock. errBusy: it waits for the
	// lock.
	err error

	// deaf is why no command can send requests. The Loop keeps the levels all
	// the same.
	deaf error
}

// keep takes the lock and opens the socket. It takes them again if their names
// were removed or replaced. It reports whether that began to fail or to
// succeed. keep asks a command that holds the lock to release it, and waits for
// a process that is ending. The application must not be able to prevent a
// restore by holding the lock: after lockPatience the Loop continues without
// the lock and the socket, and at once if it has held the lock before.
func (k *keeper) keep(ctx context.Context, now time.Time) (changed bool) {
	failed, deaf := k.err != nil, k.deaf != nil
	k.err = k.store.lock()
	if k.err != nil && k.since.IsZero() {
		k.since = now
	}
	waiting := errors.Is(k.err, errHeld) && now.Sub(k.since) < lockPatience && !k.owner
	if waiting {
		if r, err := k.store.ask(ctx, request{Verb: verbYield}, yieldPatience); err == nil && r.Yielded {
			k.err = k.store.lock()
		}
	}
	switch {
	case k.err == nil:
		k.owner, k.since = true, time.Time{}
		k.deaf = k.listen()
	case waiting:
		k.err = errBusy
	}
	return failed != (k.err != nil) || deaf != (k.deaf != nil)
}

// listen opens the socket unless other processes can already find it.
func (k *keeper) listen() error {
	if k.server != nil && k.store.named(k.server.socket) {
		return nil
	}
	listener, socket, err := k.store.listen()
	if err != nil {
		return err
	}
	k.stop()
	k.server = startServer(listener, socket, k.answer)
	return nil
}

// release gives up the lock. Requests already received still get answers.
func (k *keeper) release() {
	if k.server != nil {
		k.store.removeSocket(k.server.socket)
	}
	k.store.unlock()
}

// stop ends the server.
func (k *keeper) stop() {
	if k.server != nil {
		k.server.stop()
		k.server = nil
	}
}
