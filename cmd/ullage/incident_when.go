package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/retry"
	"github.com/ullage/ullage/internal/jvm/ask"
)

const (
	// recentPoll is how often the sidecar is asked for the last stops. It shows 50 of them.
	recentPoll = 200 * time.Millisecond

	// judging is how long the sidecar may take to find out what a stop waited for.
	judging = 3 * time.Second
)

// await waits for a stop of a JVM that meets a condition, and until the sidecar has judged it. The archive is then
// about the time of its end.
func (g *gathering) await(ctx context.Context) error {
	if err := g.ask(ctx); err != nil {
		return err
	}
	if g.status == nil {
		return fmt.Errorf("--when needs a running sidecar: %s", g.silent)
	}
	begun := time.Now()
	var met *admin.Pause
	for {
		text, err := g.owner.Recent(ctx)
		if err != nil {
			return fmt.Errorf("ask the sidecar for the last stops: %w", err)
		}
		var recent admin.Recent
		if err := json.Unmarshal(text, &recent); err != nil {
			return fmt.Errorf("read the last stops: %w", err)
		}
		if met == nil {
			met = firstMet(recent.Pauses, g.when, begun)
		} else if again := slices.IndexFunc(recent.Pauses, func(p admin.Pause) bool { return p.At.Equal(met.At) && p.Stream == met.Stream }); again >= 0 {
			met = &recent.Pauses[again]
		}
		if met != nil && (met.Verdict != "" || time.Since(met.At) > judging) {
			g.around = met.At
			return nil
		}
		if err := retry.Sleep(ctx, recentPoll); err != nil {
			return err
		}
	}
}

// firstMet returns the earliest stop after a time that meets a condition, or nil. The pauses are in the order of
// their ends.
func firstMet(pauses []admin.Pause, when ask.Trigger, after time.Time) *admin.Pause {
	for i := range pauses {
		p := &pauses[i]
		long := when.Pause > 0 && p.Seconds > when.Pause.Seconds()
		if p.At.After(after) && (long || when.IOStall && p.Verdict != "") {
			return p
		}
	}
	return nil
}
