package owner

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// owned is a destination that this process owns.
type owned struct {
	t     *testing.T
	dir   string
	store *store.Store
}

func own(t *testing.T) *owned {
	t.Helper()
	o := &owned{t: t, dir: t.TempDir()}
	var err error
	o.store, err = store.Open(o.dir, store.DefaultConfig(), nil, nil)
	if err == nil {
		err = o.store.Acquire(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.leave)
	return o
}

// leave ends the ownership. The lock file stays, as it does after a kill.
func (o *owned) leave() {
	if o.store != nil {
		_ = o.store.Close()
		o.store = nil
	}
}

// serve answers for the owner until the test ends or stop is called.
func (o *owned) serve(status func() admin.Status) (stop func()) {
	o.t.Helper()
	s, err := admin.New(admin.Config{Listen: admin.Off}, prometheus.NewRegistry(), admin.Answers{Status: func() any { return status() }}, slog.New(slog.DiscardHandler))
	if err != nil {
		o.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	addr, err := Address(o.dir)
	if err != nil {
		o.t.Fatal(err)
	}
	s.ListenAt(addr)
	var stopped atomic.Bool
	stop = func() {
		cancel()
		if !stopped.Swap(true) {
			if err := <-done; err != nil {
				o.t.Error(err)
			}
		}
	}
	o.t.Cleanup(stop)
	return stop
}

func (o *owned) lacks(dir string, wants func(string) bool, until time.Time) *Lack {
	o.t.Helper()
	d, _, ok := Of(dir)
	if !ok {
		o.t.Fatalf("%s belongs to no destination", dir)
	}
	l, err := d.Lacks(context.Background(), wants, until)
	if err != nil {
		o.t.Fatal(err)
	}
	return l
}

func TestTheOwnerSaysWhatTheCopyDoesNotShow(t *testing.T) {
	o := own(t)
	stalled := time.Now().Add(-time.Minute)
	o.serve(func() admin.Status {
		u := admin.Unpersisted{Bytes: 6_600_000, DroppedLines: 16396, Since: stalled}
		return admin.Status{Reason: "destination: full", Progress: admin.Progress{SeenAt: time.Now(), Unpersisted: u},
			Streams: []admin.Stream{{Name: "gc.log", Unpersisted: u}, {Name: "app.log"}}}
	})
	want := &Lack{Bytes: 6_600_000, DroppedLines: 16396, Reason: "destination: full"}
	only := func(name string) func(string) bool { return func(s string) bool { return s == name } }
	if d := cmp.Diff(want, o.lacks(o.dir, nil, time.Time{})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if d := cmp.Diff(want, o.lacks(o.dir, only("gc.log"), time.Time{})); d != "" {
		t.Errorf("for the stream: (-want +got)\n%s", d)
	}
	if l := o.lacks(o.dir, only("app.log"), time.Time{}); l != nil {
		t.Errorf("for another stream: %v, want nil", l)
	}
	if l := o.lacks(o.dir, nil, stalled.Add(-time.Second)); l != nil {
		t.Errorf("for the time before the stall: %v, want nil", l)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(o.dir, link); err != nil {
		t.Fatal(err)
	}
	if l := o.lacks(link, nil, time.Time{}); l == nil {
		t.Error("through a link, no line is reported as missing, want some")
	}
}

// A running sidecar always has lines that it has read and not yet committed.
func TestLinesThatBecomeDurableSoonAreWaitedFor(t *testing.T) {
	o := own(t)
	asked := 0
	o.serve(func() admin.Status {
		st := admin.Status{Ready: true, Progress: admin.Progress{SeenAt: time.Now()}}
		if asked++; asked < 3 {
			st.Unpersisted = admin.Unpersisted{Bytes: 100, Since: time.Now().Add(-time.Second)}
		} else { // there is something new
			st.Unpersisted = admin.Unpersisted{Bytes: 200, Since: time.Now()}
		}
		return st
	})
	if l := o.lacks(o.dir, nil, time.Time{}); l != nil || asked != 3 {
		t.Errorf("lacks returned %v and asked %d times, want nil and 3 times", l, asked)
	}
}

// If a sidecar last looked at its source before it was asked, that proves nothing about later lines.
func TestAnOldLookAtTheSourceIsNotBelieved(t *testing.T) {
	o := own(t)
	first, asked := time.Now(), 0
	o.serve(func() admin.Status {
		if asked++; asked < 3 {
			return admin.Status{Ready: true, Progress: admin.Progress{SeenAt: first}}
		}
		return admin.Status{Ready: true, Progress: admin.Progress{SeenAt: time.Now()}}
	})
	if l := o.lacks(o.dir, nil, time.Time{}); l != nil || asked != 3 {
		t.Errorf("lacks returned %v and asked %d times, want nil and 3 times", l, asked)
	}
}

// A thread of the JVM may get no processor between the date of its line and the write. So the sidecar must have looked
// at its source later than the time that was asked for, and what it read in between must be durable.
func TestLinesThatWereDatedAndNotWrittenYetAreWaitedFor(t *testing.T) {
	o := own(t)
	until := time.Now().Add(-time.Minute)
	asked := 0
	o.serve(func() admin.Status {
		asked++
		st := admin.Status{Ready: true, Progress: admin.Progress{SeenAt: until.Add(time.Duration(asked) * writing / 2)}}
		if asked == 2 {
			st.Unpersisted = admin.Unpersisted{Bytes: 100, Since: until.Add(writing / 2)}
		}
		return st
	})
	if l := o.lacks(o.dir, nil, until); l != nil || asked != 3 {
		t.Errorf("lacks returned %v and asked %d times, want nil and 3 times", l, asked)
	}
}

func TestAnOwnerThatCannotBeAskedIsReported(t *testing.T) {
	o := own(t)
	if l := o.lacks(o.dir, nil, time.Time{}); l == nil || !strings.Contains(l.Unasked, "does not answer in this network namespace") {
		t.Errorf(`although nothing listens, lacks returned %v, want Unasked to name "does not answer in this network namespace"`, l)
	}
	stop := o.serve(func() admin.Status { return admin.Status{} })
	if l := o.lacks(o.dir, nil, time.Time{}); l == nil || !strings.Contains(l.Unasked, "not opened its source") {
		t.Errorf(`although the sidecar has no source, lacks returned %v, want Unasked to name "not opened its source"`, l)
	}
	stop()
	lock := filepath.Join(o.dir, segment.OwnDir, segment.LockName)
	text, err := os.ReadFile(lock)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(text), "pid ", "pid 1", 1)
	if err := os.WriteFile(lock, []byte(other), 0o640); err != nil {
		t.Fatal(err)
	}
	o.serve(func() admin.Status { return admin.Status{Ready: true, Progress: admin.Progress{SeenAt: time.Now()}} })
	if l := o.lacks(o.dir, nil, time.Time{}); l == nil || !strings.Contains(l.Unasked, "answers at the destination's address, but ") {
		t.Errorf(`although another process answers, lacks returned %v, want Unasked to name "answers at the destination's address, but "`, l)
	}
}

// The remains of a dead sidecar must not mark a copy as incomplete permanently.
func TestADestinationThatIsNotOwnedLacksNothing(t *testing.T) {
	o := own(t)
	stop := o.serve(func() admin.Status {
		return admin.Status{Progress: admin.Progress{SeenAt: time.Now(), Unpersisted: admin.Unpersisted{Bytes: 1, Since: time.Unix(1, 0)}}}
	})
	if err := os.Mkdir(filepath.Join(o.dir, "gc.log"), 0o750); err != nil {
		t.Fatal(err)
	}
	if l := o.lacks(filepath.Join(o.dir, "gc.log"), nil, time.Time{}); l == nil {
		t.Error("the sidecar runs, but no line is reported as missing, want some")
	}
	stop()
	o.leave()
	if l := o.lacks(o.dir, nil, time.Time{}); l != nil {
		t.Errorf("although the sidecar has ended, lacks returned %v, want nil", l)
	}
	if err := os.Remove(filepath.Join(o.dir, segment.OwnDir, segment.LockName)); err != nil {
		t.Fatal(err)
	}
	if l := o.lacks(o.dir, nil, time.Time{}); l != nil {
		t.Errorf("for a copy without a lock, lacks returned %v, want nil", l)
	}
	if _, _, ok := Of(t.TempDir()); ok {
		t.Error("Of takes a new directory for a destination, want false")
	}
}

func TestOfTwoDestinationsEachHasItsOwner(t *testing.T) {
	first, second := own(t), own(t)
	for _, o := range []*owned{first, second} {
		held := int64(len(o.dir))
		if o == second {
			held = 0
		}
		o.serve(func() admin.Status {
			st := admin.Status{Progress: admin.Progress{SeenAt: time.Now()}}
			if held > 0 {
				st.Unpersisted = admin.Unpersisted{Bytes: held, Since: time.Unix(1, 0)}
			}
			return st
		})
	}
	if l := first.lacks(first.dir, nil, time.Time{}); l == nil || l.Bytes != int64(len(first.dir)) {
		t.Errorf("for the first owner, lacks returned %v, want %d bytes", l, len(first.dir))
	}
	if l := second.lacks(second.dir, nil, time.Time{}); l != nil {
		t.Errorf("for the second owner, lacks returned %v, want nil", l)
	}
}

func TestAskingEndsWithItsContext(t *testing.T) {
	o := own(t)
	o.serve(func() admin.Status {
		return admin.Status{Ready: true, Progress: admin.Progress{SeenAt: time.Now(), Unpersisted: admin.Unpersisted{Bytes: 1, Since: time.Unix(1, 0)}}}
	})
	d, _, _ := Of(o.dir)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := d.Lacks(ctx, nil, time.Time{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
