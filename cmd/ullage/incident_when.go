package main

import (
	"context"
	"encoding/json"
	"errors"
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

	// judging is how long the sidecar may take to find out what a stop waited for: it samples each 5 s while logs are quiet.
	judging = 7 * time.Second

	// unanswered is for how long the sidecar may not answer: it may be stalled, too, or start again.
	unanswered = time.Minute
)

// await waits for a stop of a JVM that is long enough, and until the sidecar has judged it. The archive is then
// about the time of its end.
func (g *gathering) await(ctx context.Context) error {
	if err := g.ask(ctx); err != nil {
		return err
	}
	if g.status == nil {
		return fmt.Errorf("--when needs a running sidecar: %s", g.silent)
	}
	begun := time.Now()
	answered, seen := begun, time.Time{}
	var met *admin.Pause
	for {
		recent, err := g.recent(ctx)
		if err == nil {
			answered = time.Now()
		} else if ctx.Err() != nil || time.Since(answered) > unanswered {
			return err
		}
		if met == nil {
			met, seen = firstMet(recent.Pauses, g.when, begun), time.Now()
		} else if again := slices.IndexFunc(recent.Pauses, func(p admin.Pause) bool { return p.At.Equal(met.At) && p.Stream == met.Stream }); again >= 0 {
			met = &recent.Pauses[again]
		}
		if met != nil && (met.Verdict != "" || time.Since(seen) > judging) {
			g.around = met.At
			return nil
		}
		if err := retry.Sleep(ctx, recentPoll); err != nil {
			return err
		}
	}
}

// recent asks the sidecar for the last stops.
func (g *gathering) recent(ctx context.Context) (recent admin.Recent, err error) {
	text, err := g.owner.Recent(ctx)
	if err != nil {
		return recent, fmt.Errorf("ask the sidecar for the last stops: %w", err)
	}
	if err := json.Unmarshal(text, &recent); err != nil {
		return recent, fmt.Errorf("read the last stops: %w", err)
	}
	if recent.Pauses == nil {
		return recent, errors.New("the sidecar sees no stops, because it runs with --jvm-metrics=false")
	}
	return recent, nil
}

// firstMet returns the earliest stop after a time that meets the condition, or nil. The pauses are in the order of
// their ends.
func firstMet(pauses []admin.Pause, when ask.Trigger, after time.Time) *admin.Pause {
	for i := range pauses {
		if p := &pauses[i]; p.At.After(after) && p.Seconds > when.Pause.Seconds() {
			return p
		}
	}
	return nil
}
