package levels

import (
	"context"
	"errors"
	"time"

	"github.com/ullage/ullage/internal/base/retry"
)

// lockPatience is how long a process waits for a lock that another process
// holds: a sidecar that drains needs some seconds.
const lockPatience = 8 * time.Second

// keeper holds the lock and the socket of a Loop.
type keeper struct {
	store  *store
	answer func(context.Context, request) reply
	server *server // nil: no process can send requests

	// err is why this process does not hold the lock. The Loop keeps the levels all the
	// same: the application must not be able to prevent a restore by holding the lock.
	err error

	// deaf is why no command can send requests. The Loop keeps the levels all
	// the same.
	deaf error
}

// await takes the lock. It waits for a predecessor that drains, for at most lockPatience.
func (k *keeper) await(ctx context.Context) {
	for began := time.Now(); ; {
		k.err = k.store.lock()
		if !errors.Is(k.err, errHeld) || time.Since(began) > lockPatience || retry.Sleep(ctx, pollInterval/5) != nil {
			return
		}
	}
}

// keep takes the lock and opens the socket. It takes them again if their names
// were removed or replaced. It reports whether that began to fail or to
// succeed.
func (k *keeper) keep() (changed bool) {
	failed, deaf := k.err != nil, k.deaf != nil
	if k.err = k.store.lock(); k.err == nil {
		k.deaf = k.listen()
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
