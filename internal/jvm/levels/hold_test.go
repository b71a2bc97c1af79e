package levels

import (
	"context"
	"testing"
	"time"
)

func TestHoldRestoresAtTheEnd(t *testing.T) {
	r, j := alone(t)
	c := r.command()
	_, until, err := c.Set(t.Context(), selected(t, "gc*=debug"), "", time.Second)
	must(t, err)
	if c.Kept() {
		t.Error("kept by another, although nobody runs")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err = c.Hold(ctx)
	logs(t, j, ownSelection)
	if late := time.Since(until); err != nil || late < 0 {
		t.Errorf("%s after its end: %v", late, err)
	}
	j.hasTaken(4)
}

func TestHoldRestoresWhenItIsCancelled(t *testing.T) {
	r, j := alone(t)
	c := r.command()
	_, _, err := c.Set(t.Context(), selected(t, "gc*=debug"), "", time.Hour)
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
	j.hasTaken(4)
}
