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
	l.setFailure(errors.Join(errors.New("append"), unix.ENOSPC), now.Add(-10*time.Second))
	l.setFailure(unix.ENOSPC, now.Add(-time.Second)) // the next attempt, with lines that were read again
	if got := l.lag(now); got != 10*time.Second {
		t.Errorf("during the outage the lag is %s, want 10s", got)
	}
	l.setFailure(nil, time.Time{})
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
		if got := l.setFailure(c.err, time.Time{}); got != c.news {
			t.Errorf("step %d, %v: news %v, want %v", i, c.err, got, c.news)
		}
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
