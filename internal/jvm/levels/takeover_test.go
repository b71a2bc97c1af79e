package levels

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"
)

// A later command takes over from one that holds a raise, and so does a sidecar
// that starts: the levels are kept by one process at a time.
func TestACommandThatHoldsLeavesTheLevelsToALaterOne(t *testing.T) {
	r, j := alone(t)
	first, second := r.command(), r.command()
	_, _, err := first.Set(t.Context(), selected(t, "gc*=debug"), "", time.Hour)
	must(t, err)
	held := make(chan error, 1)
	go func() { held <- first.Hold(t.Context()) }()
	listed, err := r.command().List(t.Context())
	if err != nil || len(listed) != 1 || listed[0].Outputs[2].Raised != "gc*=debug" {
		t.Errorf("%+v, %v", listed, err)
	}
	_, _, err = second.Set(t.Context(), selected(t, "gc*=trace"), "", time.Hour)
	must(t, err)
	if err := <-held; !errors.Is(err, ErrReplaced) {
		t.Error(err)
	}
	if second.Kept() {
		t.Error("a command is taken for one that does not have to hold")
	}
	logs(t, j, atop("gc*=trace"))
	go func() { held <- second.Hold(t.Context()) }()
	r.annotate()
	p := r.process()
	stop := p.run()
	if err := <-held; !errors.Is(err, ErrReplaced) {
		t.Error(err)
	}
	within(t, patience, "the sidecar knows of the raise", func() bool { return p.Status().Cause == FromCommand })
	logs(t, j, atop("gc*=trace"))
	must(t, stop())
	logs(t, j, ownSelection)
	j.hasTaken(7) // two of them for the list
}

// The application asks a command for the levels, and does not take the lock: the
// raise is still ended.
func TestACommandThatNobodySucceedsGoesOn(t *testing.T) {
	r, j := alone(t)
	c := r.command()
	_, until, err := c.Set(t.Context(), selected(t, "gc*=debug"), "", 4*time.Second)
	must(t, err)
	held := make(chan error, 1)
	go func() { held <- c.Hold(t.Context()) }()
	other := &store{source: r.cfg.Source}
	if yielded, err := other.ask(t.Context(), request{Verb: verbYield}, patience); err != nil || !yielded.Yielded {
		t.Fatalf("%+v, %v", yielded, err)
	}
	if other.kept() {
		t.Error("the lock is held by who yielded")
	}
	must(t, <-held)
	if time.Now().Before(until) {
		t.Errorf("it ended before %s", until)
	}
	logs(t, j, ownSelection)
}

func TestAResetEndsWhatAnotherCommandHolds(t *testing.T) {
	r, j := alone(t)
	c := r.command()
	_, _, err := c.Set(t.Context(), selected(t, "gc*=debug"), "", time.Hour)
	must(t, err)
	held := make(chan error, 1)
	go func() { held <- c.Hold(t.Context()) }()
	changes, _, err := r.command().Reset(t.Context())
	if err != nil || len(changes) != 1 || changes[0].To != ownSelection {
		t.Errorf("%+v, %v", changes, err)
	}
	logs(t, j, ownSelection)
	must(t, <-held)
}

// Whatever becomes of the names while the sidecar runs, its successor finds the
// lock free and the raise in the file.
func TestAKilledSidecarIsFollowedByACommand(t *testing.T) {
	r, j := alone(t)
	r.annotate("log", "gc*=debug", "log-for", "1h")
	p := r.process()
	p.step()
	p.kill()
	listed, err := r.command().List(t.Context())
	if err != nil || len(listed) != 1 || listed[0].Outputs[2].Raised != "gc*=debug" {
		t.Errorf("%+v, %v", listed, err)
	}
	changes, _, err := r.command().Reset(t.Context())
	if err != nil || len(changes) != 1 || changes[0].From != ownSelection+",gc*=debug" {
		t.Errorf("%+v, %v", changes, err)
	}
	logs(t, j, ownSelection)
	p = r.settle()
	if st := p.Status(); st.Cause != "" {
		t.Errorf("the annotation raises again: %+v", st)
	}
}

// A command that holds a raise, and has offered the levels to another, must not
// take a list that looks at the lock for its successor: nobody would restore.
func TestWhoLooksAtTheLockIsNotTakenForItsHolder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	holder := &store{source: r.cfg.Source}
	must(t, holder.lock())
	holder.unlock()
	var looking sync.WaitGroup
	for range 2 {
		looking.Go(func() {
			for range 2000 {
				if (&store{source: r.cfg.Source}).kept() {
					t.Error("nobody holds the lock")
					return
				}
			}
		})
	}
	looking.Wait()
	must(t, holder.lock())
	if !(&store{source: r.cfg.Source}).kept() {
		t.Error("the holder is not seen")
	}
	holder.unlock()
}

// To look leaves nothing behind: a shipper decides by what it finds there
// whether a source is new.
func TestAListCreatesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.jvm(1)
	if _, err := r.command().List(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := r.command().Rotate(t.Context()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(r.cfg.Source); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestAnInterruptedCommandDoesNotWaitForTheSidecar(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.annotate()
	p := r.process()
	p.tick(t.Context()) // it listens, and does nothing more
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := r.command().Set(ctx, selected(t, "gc*=debug"), "", time.Hour); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
