package ship

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/settings"
)

// There is a backlog above the marks at the start, the JVM has ended, and the destination
// is healthy: no line needs to be dropped.
func TestBacklogAtAStartIsNotDropped(t *testing.T) {
	b := newBench(t)
	b.cfg.Budget = 24 * settings.Mi
	b.appendTo("gc.log", strings.Repeat(lines(0, 1000), 22<<20/len(lines(0, 1000))))
	b.start()
	b.eventually("all of it is persisted", func() bool {
		st := statusOf(b.ship)
		return len(st.Streams) == 1 && st.Streams[0].SegmentBytes > 0 && st.BacklogBytes == 0
	})
	b.drain()
	b.staysZero("ullage_dropped_lines_total")
}

// The disk is healthy and there is no pressure: no line was cut by a full tmpfs.
func TestWholeLinesAreNotCountedAsCut(t *testing.T) {
	b := newBench(t)
	b.start()
	b.appendTo("gc.log", lines(0, 50000))
	b.drain()
	b.staysZero("ullage_jvm_cut_lines_total")
}

// The gauges that alerts use exist from the beginning and show a failing destination.
func TestGaugesOfTheDestination(t *testing.T) {
	b := newBench(t)
	begin := float64(time.Now().Add(-time.Second).Unix())
	b.start()
	b.appendTo("gc.log", lines(0, 10))
	b.eventually("lines become durable", func() bool {
		return b.persisted("gc.log") != "" && b.value("ullage_oldest_segment_timestamp_seconds") > 0
	})
	for name, ok := range map[string]func(float64) bool{
		"ullage_ready":                  func(v float64) bool { return v == 1 },
		"ullage_destination_free_bytes": func(v float64) bool { return v > 0 },
		"ullage_destination_last_error_timestamp_seconds": func(v float64) bool {
			// On a busy machine, the destination may not have answered at first.
			return v == 0 || strings.Contains(statusOf(b.ship).DestinationErrors.Last, errNoAnswer.Error())
		},
		"ullage_oldest_segment_timestamp_seconds": func(v float64) bool { return v >= begin && v < begin+60 },
	} {
		if v := b.value(name); !ok(v) {
			t.Errorf("%s is %v, want a value of a healthy destination", name, v)
		}
	}
	b.ship.link.health.setFailure(unix.ENOENT, time.Time{})
	if ready, at := b.value("ullage_ready"), b.value("ullage_destination_last_error_timestamp_seconds"); ready != 0 || at < begin {
		t.Errorf("ready is %v, and the last error was at %v; want 0, and a time not before %v", ready, at, begin)
	}
	if st := statusOf(b.ship); st.DestinationErrors.Last == "" || st.DestinationErrors.LastAt.IsZero() {
		t.Errorf("the last error is %q at %s, want an error and its time", st.DestinationErrors.Last, st.DestinationErrors.LastAt)
	}
}

// value returns the value of a gauge without labels.
func (b *bench) value(gauge string) float64 {
	b.t.Helper()
	families, err := b.reg.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == gauge {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return -1
}

// staysZero fails the test if a counter is above zero with any labels.
func (b *bench) staysZero(counter string) {
	b.t.Helper()
	families, err := b.reg.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if v := m.GetCounter().GetValue(); f.GetName() == counter && v > 0 {
				b.t.Errorf("%s%v is %v, want 0", counter, m.GetLabel(), v)
			}
		}
	}
}
