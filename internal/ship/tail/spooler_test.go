package tail

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// The state directory is replaced so often that no further spool may be opened. The new spool
// is opened once the records in the older ones are durable.
func TestSpoolThatCouldNotBeOpenedIsTriedAgain(t *testing.T) {
	r := newRig(t)
	var logged bytes.Buffer
	r.src.env.log.Logger = slog.New(slog.NewTextHandler(&logged, nil))
	w := r.writer("gc.log")
	for r.src.spool.log != nil {
		r.write(w, uls("x", "info", 1000))
		r.move()
		r.replaceState()
	}
	for range 3 {
		r.src.Tick()
	}
	if n := strings.Count(logged.String(), "opening the spool failed"); n != 1 {
		t.Errorf("the failure was logged %d times, want 1", n)
	}
	r.read()
	r.commit()
	r.src.Tick()
	r.write(w, uls("new", "info", 1000))
	r.src.Relief.Weigh()
	if r.src.Relief.Move(everything) == 0 {
		t.Error("nothing can be moved, although the older records are durable")
	}
	if n := strings.Count(logged.String(), "spool opened"); n != 1 {
		t.Errorf("the opening of the spool was logged %d times, want 1", n)
	}
}

// Moving lines takes memory. It is freed with the last record and allocated again for the next.
func TestMemoryOfMovingGoesWithTheLastRecord(t *testing.T) {
	r := newRig(t)
	w := r.writer("gc.log")
	for range 2 {
		r.write(w, uls("x", "info", 1000))
		r.move()
		if r.src.Tick(); r.src.spool.data == nil {
			t.Fatal("memory is freed although there is a record")
		}
		r.read()
		r.commit()
		if r.src.Tick(); r.src.spool.data != nil {
			t.Fatal("memory is kept although there is no record")
		}
	}
}

// Reading lines that an earlier process has moved also takes memory. So does the log of a
// state directory that was replaced.
func TestMemoryOfReadingGoesWithTheLastRecord(t *testing.T) {
	for name, leave := range map[string]func(*spooler){"in the log": func(*spooler) {}, "in the log of a replaced state directory": (*spooler).leave} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			text := uls("x", "info", 1000)
			r.put("gc.log", text)
			r.move()
			r.killed(r.committed(), false)
			r.read()
			r.want("gc.log", text)
			log := r.src.spool.log
			if r.src.Tick(); log.Resting() {
				t.Fatal("memory is freed although there is a record")
			}
			leave(r.src.spool)
			if r.commit(); !log.Resting() {
				t.Error("memory is kept although there is no record")
			}
		})
	}
}
