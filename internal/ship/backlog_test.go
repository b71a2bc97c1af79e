package ship

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/tail"
)

// spoolBacklog leaves a backlog of the given number of records in the spool, as a killed
// process does. Each record has a few lines. It returns the lines.
func spoolBacklog(b *bench, records int) string {
	b.t.Helper()
	const each = 50
	s, from := b.begun(true)
	s.begins(b.t, from)
	w := b.log("gc.log")
	var text strings.Builder
	for n := range records {
		lines := debugLines(n*each, (n+1)*each)
		text.WriteString(lines)
		b.write(w, lines)
		s.src.Tick()
		if _, err := s.src.Scanner.Scan(); err != nil {
			b.t.Fatal(err)
		}
		s.src.Relief.Weigh()
		if s.src.Relief.Move(tail.Relief{Want: 1, Least: 1, Keep: ul.Warning}) == 0 {
			b.t.Fatalf("record %d was not made", n)
		}
	}
	w.Close()
	s.killed()
	return text.String()
}

// A record of the spool may need the whole of the smallest ring, so the reader waits until
// the writer has taken the record before it. That record has far fewer bytes than the number
// at which the writer is woken. No commit is due for an hour.
func TestTheSmallestQueueTakesABacklogOfRecordsBetweenTwoCommits(t *testing.T) {
	b := newBench(t)
	want := spoolBacklog(b, 200)
	b.cfg.Queue, b.cfg.SyncInterval, b.cfg.DrainTimeout = 256*settings.Ki, time.Hour, time.Minute
	caughtUp := make(chan struct{}, 1)
	b.to.CaughtUp = func() {
		select {
		case caughtUp <- struct{}{}:
		default:
		}
	}
	b.start()
	select {
	case <-caughtUp:
	case <-time.After(time.Minute):
		t.Fatalf("the reader has not read the backlog; %d bytes are queued", b.ship.link.queue.Bytes())
	}
	if commits := b.ship.link.commits.Load(); commits > 1 {
		t.Errorf("taking the backlog took %d commits, want at most 1", commits)
	}
	b.drain()
	if got := b.persisted("gc.log"); got != want {
		t.Errorf("%d bytes are persisted, want %d", len(got), len(want))
	}
}

// BenchmarkDrain ships a backlog of 500 records in the spool, from the start of a process
// to its end, with queues of several sizes.
func BenchmarkDrain(b *testing.B) {
	const records = 500
	for _, queue := range []settings.Size{256 * settings.Ki, settings.Mi, 2 * settings.Mi, 4 * settings.Mi} {
		b.Run(fmt.Sprint(queue), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				rig := newBench(b)
				text := spoolBacklog(rig, records)
				rig.cfg.Queue, rig.cfg.SyncInterval = queue, time.Second
				s := New(rig.cfg, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
				ended, cancel := context.WithCancel(b.Context())
				cancel()
				b.SetBytes(int64(len(text)))
				b.StartTimer()
				if err := s.Run(ended, rig.to); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(records*float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}
