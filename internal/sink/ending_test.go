package sink

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/sink/address"
	"github.com/ullage/ullage/test/lab"
)

// onSave calls a function when a worker first fails to save its cursor. At that moment a round has
// ended, and the worker has not yet decided whether to continue.
type onSave struct {
	slog.Handler
	once *sync.Once
	call func()
}

func (h onSave) Handle(_ context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "saving the cursor") {
		h.once.Do(h.call)
	}
	return nil
}

func (h onSave) Enabled(context.Context, slog.Level) bool { return true }
func (h onSave) WithAttrs([]slog.Attr) slog.Handler       { return h }

// The last commit and the end happen together, just when the worker has nothing to do.
func TestTheLastCommitIsDeliveredBeforeTheEnd(t *testing.T) {
	r := newRig(t, false)
	r.must(r.end())
	r.must(os.MkdirAll(filepath.Join(r.dest, stateDir, "test.json.next"), 0o755)) // no cursor can be saved
	ctx, cancel := context.WithCancel(t.Context())
	var set *Set
	h := onSave{Handler: slog.DiscardHandler, once: &sync.Once{}, call: func() {
		set.Committed(map[string]segment.Mark{"gc.log": r.appends("gc.log", "[2s][info][gc] two")}, nil)
		cancel()
	}}
	kinds := map[string]Kind{"test": {Open: func(Target) (Sink, error) { return r.engine, nil }}}
	var err error
	set, err = New(Config{URLs: address.URLs{"test://there"}}, kinds, r.dest, prometheus.NewRegistry(), slog.New(h))
	r.must(err)
	set.workers[0].saved = time.Now() // no save is due in the middle of the round
	set.Committed(map[string]segment.Mark{"gc.log": r.appends("gc.log", "[1s][info][gc] one")}, nil)
	stop, cut := context.WithTimeout(t.Context(), lab.Patience)
	defer cut()
	r.must(set.Run(ctx, stop))
	r.expects("gc.log 0 info [1s][info][gc] one", "gc.log 19 info [2s][info][gc] two")
}

// The engine asked for a long pause, and works again when the sidecar receives SIGTERM, or a moment
// later. The sink tries at once, and again after a short pause.
func TestTheDrainDoesNotWaitForAPauseToEnd(t *testing.T) {
	for name, failures := range map[string]int{"the engine works": 0, "one more failure": 1} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, false)
			left := -1 // failures before the engine works; negative: it does not know
			r.engine.fails = func(*Batch) error {
				if left == 0 {
					return nil
				}
				left--
				return &BusyError{After: time.Hour, Err: errors.New("away")}
			}
			r.commits("gc.log", "[1s][info][gc] one")
			r.waits("the first try fails", func() bool { return r.set.Status()[0].Failure != "" })
			r.engine.mu.Lock()
			left = failures
			r.engine.mu.Unlock()
			r.must(r.end())
			r.expects("gc.log 0 info [1s][info][gc] one")
		})
	}
}

// A power cut has torn the end of a stream that no JVM writes to any more. The torn end cannot be read,
// so it does not count as undelivered, and retention does not wait for the sink.
func TestATornEndIsNotLacked(t *testing.T) {
	for name, torn := range map[string]string{"half a frame": "[2s][info][gc] ha", "zeros": strings.Repeat("\x00", 100)} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, false)
			r.commits("gc.log", "[1s][info][gc] one")
			r.gets(1)
			r.must(r.end())
			f, err := os.OpenFile(r.list("gc.log")[0].Path, os.O_WRONLY|os.O_APPEND, 0)
			r.must(err)
			_, err = f.WriteString(torn)
			r.must(errors.Join(err, f.Close()))
			r.begin()
			r.set.Committed(nil, nil)
			r.waits("the sink needs nothing", func() bool { return r.has(r.list("gc.log")[0]) })
			r.must(r.end())
			r.expects("gc.log 0 info [1s][info][gc] one")
		})
	}
}
