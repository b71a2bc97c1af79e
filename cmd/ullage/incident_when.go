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
	// recentPoll is how often the sidecar is asked for the last stops. Its answer has the last 50.
	recentPoll = 200 * time.Millisecond

	// judging is how long the sidecar may take to find out what a stop waited for: it samples every 5 s while logs are
	// quiet.
	judging = 7 * time.Second

	// unanswered is how long the sidecar may fail to answer, because it may be stalled as well, or be restarting.
	unanswered = time.Minute
)

// await waits for a long enough stop of a JVM and until the sidecar has judged that stop. The archive is then about the
// time at which the stop ended.
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
