package control

import (
	"context"
	"errors"
	"time"

	"github.com/ullage/ullage/internal/base/retry"
)

// KeepInterval is how often to call [Owner.Keep]. Commands wait for a few such intervals.
const KeepInterval = 500 * time.Millisecond

// PerTask is how long an owner may take for one JVM, as a multiple of the timeout of one command
// to a JVM. A Command waits accordingly.
const PerTask = 2

// lockPatience is how long a process waits for a lock that another process holds: a sidecar that
// drains needs some seconds.
const lockPatience = 8 * time.Second

// Owner makes this process the owner of a source's levels. It holds the lock and the socket to
// which commands send requests. Only one goroutine may use an Owner.
type Owner struct {
	store  *store
	answer func(context.Context, Request) Reply
	server *server // nil: no process can send requests

	err  error // see Unlocked
	deaf error // see Deaf
}

// NewOwner returns the Owner of a source's levels, which has no lock and no socket yet. answer
// answers requests, and is called by several goroutines at a time.
func NewOwner(source string, answer func(context.Context, Request) Reply) *Owner {
	return &Owner{store: &store{source: source}, answer: answer}
}

// Unlocked returns why this process does not hold the lock, or nil. Even without the lock, the
// process manages the levels: the application must not be able to prevent a restore by holding the
// lock.
func (o *Owner) Unlocked() error { return o.err }

// Deaf returns why no command can send requests, or nil. The process manages the levels in any
// case.
func (o *Owner) Deaf() error { return o.deaf }

// Await takes the lock. It waits at most lockPatience for a predecessor that drains.
func (o *Owner) Await(ctx context.Context) {
	for began := time.Now(); ; {
		o.err = o.store.lock()
		if !errors.Is(o.err, errHeld) || time.Since(began) > lockPatience || retry.Sleep(ctx, KeepInterval/5) != nil {
			return
		}
	}
}

// Keep takes the lock and opens the socket. It takes them again if their names were removed or
// replaced. It reports whether taking the lock or opening the socket began to fail or to succeed.
func (o *Owner) Keep() (changed bool) {
	failed, deaf := o.err != nil, o.deaf != nil
	if o.err = o.store.lock(); o.err == nil {
		o.deaf = o.listen()
	}
	return failed != (o.err != nil) || deaf != (o.deaf != nil)
}

// listen opens the socket unless other processes can already find it.
func (o *Owner) listen() error {
	if o.server != nil && o.store.named(o.server.socket) {
		return nil
	}
	listener, socket, err := o.store.listen()
	if err != nil {
		return err
	}
	o.Stop()
	o.server = startServer(listener, socket, o.answer)
	return nil
}

// Release gives up the lock. Requests already received still get answers.
func (o *Owner) Release() {
	if o.server != nil {
		o.store.removeSocket(o.server.socket)
	}
	o.store.unlock()
}

// Stop ends the server.
func (o *Owner) Stop() {
	if o.server != nil {
		o.server.stop()
		o.server = nil
	}
}
