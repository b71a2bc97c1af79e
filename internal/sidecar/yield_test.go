package sidecar

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ullage/ullage/internal/line/mark"
)

// yielded runs yield for a minute of a fake clock. It returns whether yield ended the sidecar,
// and the log. If after is not nil, yielded calls it once the duration at has passed.
func yielded(t *testing.T, source string, within, at time.Duration, after func()) (ended bool, said string) {
	t.Helper()
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cfg := DefaultConfig()
		cfg.Ship.Tail.Source, cfg.YieldAfter = source, within
		if after != nil {
			time.AfterFunc(at, after)
		}
		cfg.yield(ctx, func() { ended = true }, slog.New(slog.NewTextHandler(&log, nil)))
		synctest.Wait()
	})
	return ended, log.String()
}

// A pod whose sidecar has become an ordinary init container starts its JVM only
// when that container has ended.
func TestASidecarYieldsOnce(t *testing.T) {
	source := t.TempDir()
	if ended, said := yielded(t, source, 10*time.Second, 0, nil); !ended || !strings.Contains(said, "exiting without a log") {
		t.Errorf(`the first sidecar: ended %v, want true, and "exiting without a log" in its log: %s`, ended, said)
	}
	if ended, said := yielded(t, source, 10*time.Second, 0, nil); ended || said != "" {
		t.Errorf("the second sidecar, which the kubelet has started: ended %v, want false, and nothing in its log: %s", ended, said)
	}
}

func TestASidecarThatIsNeededDoesNotYield(t *testing.T) {
	write := func(source, name string) func() {
		return func() {
			if err := os.WriteFile(filepath.Join(source, name), nil, 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	marked := t.TempDir()
	write(marked, mark.Stream)()
	if ended, _ := yielded(t, marked, 10*time.Second, 0, nil); !ended {
		t.Error("with only a mark of the sidecar's own, the sidecar stayed, want it to end")
	}
	used := t.TempDir()
	write(used, "gc-1.log")()
	if ended, _ := yielded(t, used, 10*time.Second, 0, nil); ended {
		t.Error("with a log at the start, the sidecar ended, want it to stay")
	}
	late := t.TempDir()
	if ended, _ := yielded(t, late, 10*time.Second, 9*time.Second, write(late, "gc-1.log")); ended {
		t.Error("with a log after nine seconds, the sidecar ended, want it to stay")
	}
	if ended, _ := yielded(t, t.TempDir(), 0, 0, nil); ended {
		t.Error("with --yield-after 0, the sidecar ended, want it to stay")
	}
	missing := filepath.Join(t.TempDir(), "missing") // a tmpfs that cannot be marked is no reason to end
	if ended, said := yielded(t, missing, time.Second, 0, nil); ended || !strings.Contains(said, "yielding failed") {
		t.Errorf(`without a source: ended %v, want false, and "yielding failed" in the log: %s`, ended, said)
	}
}
