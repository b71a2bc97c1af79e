package sidecar

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship"
)

// Each line of a JVM can begin a saving where --hindsight is short: the log must not grow with them.
func TestSavingsInQuickSuccessionAreLoggedOnceAMinute(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Ship.PersistLevel, cfg.Ship.Hindsight = ul.Info, time.Nanosecond
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(&text, nil))
	shipper := ship.New(cfg.Ship, prometheus.NewRegistry(), log)
	s := newSaving(shipper, nil, log)
	for range 2 {
		if saving, err := shipper.Save(); err != nil || !saving.Began {
			t.Fatalf("began: %v, error: %v; a saving is not over at once, so this test shows nothing", saving.Began, err)
		}
	}
	for range 100 {
		for _, cause := range []string{"pause", "command"} {
			if _, err := s.save(cause, "a test"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := strings.Count(text.String(), `msg="saving withheld lines" cause=pause`); n != 1 {
		t.Errorf("100 savings by a pause were logged %d times, want 1", n)
	}
	if n := strings.Count(text.String(), `msg="saving withheld lines" cause=command`); n != 1 {
		t.Errorf("100 savings by a command were logged %d times, want 1", n)
	}
	if suppressed, ok := s.mayLog("pause", time.Now().Add(time.Minute)); !ok || suppressed != 99 {
		t.Errorf("a minute later: logged %v, %d suppressed, want true, 99", ok, suppressed)
	}
}
