package ship

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestLagCountsFromTheBeginningOfAnOutage(t *testing.T) {
	l := newLink(DefaultConfig())
	now := time.Now()
	l.health.setFailure(errors.Join(errors.New("append"), unix.ENOSPC), now.Add(-10*time.Second))
	l.health.setFailure(unix.ENOSPC, now.Add(-time.Second)) // the next attempt: its lines were read again
	if got := l.lag(now); got != 10*time.Second {
		t.Errorf("during the outage the lag is %s, want 10s", got)
	}
	l.health.setFailure(nil, time.Time{})
	if got := l.lag(now); got != 0 {
		t.Errorf("after the outage the lag is %s, want 0", got)
	}
}

func TestFailureIsNewsOnceForEachKind(t *testing.T) {
	l := newLink(DefaultConfig())
	for i, c := range []struct {
		err  error
		news bool
	}{
		{unix.ENOSPC, true},
		{unix.ENOSPC, false},
		{unix.EROFS, true},
		{nil, true},
		{nil, false},
		{unix.EROFS, true},
	} {
		if got := l.health.setFailure(c.err, time.Time{}); got != c.news {
			t.Errorf("step %d, %v: setFailure returned %v, want %v", i, c.err, got, c.news)
		}
	}
}

// An outage is still shown for a while after its end.
func TestErrorIsForgottenAnHourAfterItIsOver(t *testing.T) {
	l := newLink(DefaultConfig())
	if e := l.health.errors(time.Now()); e.Last != "" || !e.LastAt.IsZero() || l.health.lastErrorSeconds() != 0 {
		t.Errorf("before the first failure: %q at %s, %v; want no error, no time and 0", e.Last, e.LastAt, l.health.lastErrorSeconds())
	}
	begin := time.Now()
	for _, fail := range []func(){
		func() { l.health.setFailure(unix.ENOSPC, time.Time{}); l.health.setFailure(nil, time.Time{}) },
		func() { l.health.setMaintenance(unix.ENOSPC) },
	} {
		fail()
		for age, want := range map[time.Duration]string{0: unix.ENOSPC.Error(), errorMemory / 2: unix.ENOSPC.Error(), 2 * errorMemory: ""} {
			if e := l.health.errors(time.Now().Add(age)); e.Last != want || e.LastAt.IsZero() != (want == "") {
				t.Errorf("after %s: %q at %s, want %q", age, e.Last, e.LastAt, want)
			}
		}
	}
	l.health.setFailure(unix.EROFS, time.Time{})
	if e := l.health.errors(time.Now().Add(100 * errorMemory)); e.Last != unix.EROFS.Error() {
		t.Errorf("an error that has not ended is shown as %q, want %q", e.Last, unix.EROFS.Error())
	}
	if got := l.health.lastErrorSeconds(); got < float64(begin.Unix()) || l.health.failures != 3 {
		t.Errorf("the last of %d errors was at %v, want 3 errors, the last not before %d", l.health.failures, got, begin.Unix())
	}
}

func TestErrorKinds(t *testing.T) {
	for err, want := range map[error]string{
		unix.ENOSPC: "full", unix.EDQUOT: "full", unix.EROFS: "read_only", unix.EIO: "io",
		unix.EACCES: "permission", unix.ENOENT: "missing", unix.E2BIG: "other",
	} {
		if got := errorKind(errors.Join(errors.New("sync"), err)); got != want {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
}
