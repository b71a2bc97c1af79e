package tail

import (
	"testing"
	"time"
)

// No event is handled in these tests.

func TestPollFollowsAFileThatFlowsAndItsRotation(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.write(f, "one\n")
	r.read()
	r.write(f, "two\n")
	r.src.Poll()
	r.readTouched()
	r.want("gc.log", "one\ntwo\n")
	r.write(f, "three\n")
	f = r.rotate(f, "gc.log", "gc.log.0")
	r.write(f, "four\n")
	r.src.Poll()
	r.readTouched()
	r.want("gc.log", "one\ntwo\nthree\nfour\n")
}

func TestPollLeavesAFileAloneThatHadNothing(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.write(f, "one\n")
	r.read()
	r.src.Poll()
	r.readTouched() // nothing: the flow has ended
	r.now = r.now.Add(time.Hour)
	r.src.Poll()
	r.write(f, "two\n")
	r.src.Poll()
	r.readTouched()
	r.want("gc.log", "one\n")
}

func TestPollScansForAChangeOfTheDirectoryOnceItsTimeIsOver(t *testing.T) {
	r := newRig(t)
	r.put("a.log", "x\n")
	r.now = time.Now()
	for _, step := range []struct {
		name string
		age  time.Duration
		due  bool
	}{
		{"the change is news", time.Hour, true},
		{"another change may have the same time", time.Millisecond, true},
		{"nothing has changed", time.Hour, false},
	} {
		r.readTouched()
		r.src.listing.stale = false
		r.now = time.Now().Add(step.age)
		if step.age < mtimeStep {
			info, err := r.src.Dir().Stat()
			if err != nil {
				t.Fatal(err)
			}
			r.now = info.ModTime().Add(step.age)
		}
		if r.src.Poll(); r.src.Stale() != step.due {
			t.Errorf("%s: a scan is due: %v, want %v", step.name, !step.due, step.due)
		}
	}
}

func TestPollForgetsAFileThatIsGone(t *testing.T) {
	r := newRig(t)
	r.put("gc.log", "one\n")
	r.read()
	r.commit()
	r.read()
	r.commit()
	r.src.Poll()
	r.readTouched()
	r.want("gc.log", "one\n")
	if n := len(r.src.reader.flowing); n > 0 {
		t.Errorf("%d files flow, and the source has no file", n)
	}
}
