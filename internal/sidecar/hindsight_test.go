package sidecar

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship"
)

// If --hindsight is short, each line of a JVM can begin a saving. The sidecar's log must not grow with each saving.
func TestSavingsInQuickSuccessionAreLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, savingsAreLoggedOnceAMinute)
}

// The fake clock moves only while the test sleeps.
func savingsAreLoggedOnceAMinute(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Ship.PersistLevel, cfg.Ship.Hindsight = ul.Info, time.Nanosecond
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(&text, nil))
	shipper := ship.New(cfg.Ship, prometheus.NewRegistry(), log)
	s := newSaving(shipper, nil, log)
	for range 2 {
		time.Sleep(2 * cfg.Ship.Hindsight)
		if saving, err := shipper.Save(); err != nil || !saving.Began {
			t.Fatalf("began: %v, error: %v; want a new saving and no error, or this test shows nothing", saving.Began, err)
		}
	}
	for range 100 {
		for _, cause := range []string{"pause", "command"} {
			time.Sleep(2 * cfg.Ship.Hindsight)
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
	time.Sleep(time.Minute)
	text.Reset()
	if _, err := s.save("pause", "a test"); err != nil || !strings.Contains(text.String(), "suppressed=99\n") {
		t.Errorf("after 99 savings that were not logged: error %v, log %q; want no error and suppressed=99", err, &text)
	}
}
