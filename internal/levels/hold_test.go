package levels

import (
	"context"
	"testing"
	"time"
)

func TestOwned(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.command()
	for range 2 { // to ask does not own it
		if c.Owned() {
			t.Error("owned, although nobody runs")
		}
	}
	p := r.process()
	stop := p.run()
	within(t, patience, "it is owned", func() bool { return r.command().Owned() })
	if !r.command().Owned() {
		t.Error("not owned any more after somebody asked")
	}
	must(t, stop())
	if r.command().Owned() {
		t.Error("owned after the end")
	}
}

func TestHoldRestoresAtTheEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	j := r.jvm(1)
	c := r.command()
	_, until, err := c.Set(t.Context(), selected(t, "gc*=debug"), time.Second)
	must(t, err)
	if c.Owned() {
		t.Error("owned, although nobody runs")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err = c.Hold(ctx)
	logs(t, j, ownSelection)
	if late := time.Since(until); err != nil || late < 0 || late > 3*time.Second {
		t.Errorf("%s after its end: %v", late, err)
	}
	if n := j.count(); n != 4 {
		t.Errorf("%d commands: %q", n, j.sent(0))
	}
}

func TestHoldRestoresWhenItIsCancelled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	j := r.jvm(1)
	c := r.command()
	_, _, err := c.Set(t.Context(), selected(t, "gc*=debug"), time.Hour)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.Hold(ctx) }()
	logs(t, j, atop("gc*=debug"))
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	logs(t, j, ownSelection)
	r.settle()
	if n := j.count(); n != 4 {
		t.Errorf("%d commands: %q", n, j.sent(0))
	}
}
