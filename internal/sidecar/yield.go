package sidecar

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/line/mark"
)

// yieldPoll is how often the sidecar looks for the first log.
const yieldPoll = 500 * time.Millisecond

// yieldMark is the file in the state directory that exists once a sidecar of this
// source has yielded.
const yieldMark = "yielded"

// yield ends the sidecar by calling end if no log appears in the source for
// YieldAfter, once in the life of the source.
//
// In a pod whose sidecar has lost its restartPolicy, the sidecar is an ordinary init container:
// the kubelet starts no JVM until the sidecar has exited with 0. A container cannot find out
// whether it is a real sidecar. Exiting does no harm to a real sidecar: the kubelet starts it
// again, and the mark then keeps it alive. The mark is created first, so that no sidecar exits
// twice.
func (c Config) yield(ctx context.Context, end func(), log *slog.Logger) {
	if c.YieldAfter == 0 {
		return
	}
	poll := time.NewTicker(yieldPoll)
	defer poll.Stop()
	over := time.After(c.YieldAfter)
	for {
		if !c.idle() {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		case <-over:
			if err := c.markYield(); err != nil {
				// messages.md#the-source: The sidecar could not write to the source and continues.
				// In a pod whose sidecar has lost its `restartPolicy`, the JVM does not start.
				log.Warn("yielding failed", "error", err, "hint", "if the pod has lost the sidecar's restartPolicy, its JVM does not start")
				return
			}
			// messages.md#the-source: No JVM wrote within `--yield-after`, so the sidecar exits,
			// once. The injector sets the flag where another webhook strips the sidecar's
			// `restartPolicy`, and `ullage-injector inject` always sets it. If the kubelet does not
			// start the sidecar again, the other webhook did strip it: upgrade that webhook.
			log.Warn("exiting without a log", "after", c.YieldAfter,
				"hint", "if this is the last line of the container, another webhook strips restartPolicy: upgrade that webhook")
			end()
			return
		}
	}
}

// idle reports whether there is no log yet and no sidecar has yielded before.
func (c Config) idle() bool {
	entries, err := os.ReadDir(c.Ship.Tail.Source)
	if err != nil {
		return os.IsNotExist(err)
	}
	for _, e := range entries {
		if e.Name() != statedir.Name && e.Name() != mark.Stream {
			return false
		}
	}
	_, err = os.Lstat(c.Ship.Tail.Source + "/" + statedir.Name + "/" + yieldMark)
	return os.IsNotExist(err)
}

func (c Config) markYield() error {
	source, err := os.Open(c.Ship.Tail.Source)
	if err != nil {
		return fmt.Errorf("mark the source: %w", err)
	}
	defer source.Close()
	dir, err := statedir.Open(source)
	if err != nil {
		return fmt.Errorf("mark the source: %w", err)
	}
	defer dir.Close()
	mark, err := statedir.OpenFile(dir, yieldMark, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return fmt.Errorf("mark the source: %w", err)
	}
	return mark.Close()
}
