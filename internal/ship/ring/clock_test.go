package ring

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// After the wall clock has been set, dates follow it. A step that was interrupted by a kill is rendered again with
// the dates of the first attempt, whatever the next process reads from the clock.
func TestDatesFollowAWallClockThatIsSet(t *testing.T) {
	w, s := mapped(t)
	ahead := int64(1_000 * time.Second) // any value will do
	look := func() int64 { return ahead }
	s.drains[testName].render.ahead = look // the ring was opened with the machine's clock
	w.event(1, "")
	s.rounds(2)
	ahead += int64(10 * time.Second)
	w.event(2, "")
	s.rounds(2)
	ahead += int64(time.Millisecond)
	w.event(3, "")
	s.rounds(2)
	s.calls.before = func(st step, fd int, data []byte, offset int64) error {
		if st != stepAppend {
			return nil
		}
		_, _ = unix.Pwrite(fd, data[:20], offset)
		return errors.New("killed")
	}
	w.event(4, "")
	s.rounds(1)
	s.leave()

	ahead += int64(time.Hour)
	next := newSidecar(t, s.source)
	next.start()
	next.drains[testName].render.ahead = look
	w.event(5, "")
	next.rounds(3)

	_, lines := events(t, s.source, testName)
	var dates []time.Duration
	for _, line := range lines {
		at, err := time.Parse("2006-01-02T15:04:05.000-0700", line[1:29])
		if err != nil {
			t.Fatal(err)
		}
		dates = append(dates, at.Sub(time.Unix(0, testWall)).Truncate(time.Second))
	}
	first := dates[0] // includes the difference between the machine's clock and the test's
	for i := range dates {
		dates[i] -= first
	}
	if d := cmp.Diff([]time.Duration{0, 10 * time.Second, 10 * time.Second, 10 * time.Second, 3610 * time.Second}, dates); d != "" {
		t.Errorf("dates (-want +got)\n%s\n%q", d, lines)
	}
	wantErrors(t, next, "")
}

func TestTheMachinesClocksDoNotDriftApart(t *testing.T) {
	var first, again int64
	lab.Eventually(t, lab.Patience, "two looks at the clocks", func() bool {
		first, again = wallAhead(), wallAhead()
		return first != 0 && again != 0
	})
	if by := again - first; by > leastStep || by < -leastStep {
		t.Errorf("the wall clock was ahead by %d ns, and then by %d, want a difference of at most %d", first, again, leastStep)
	}
}

// Records that share a stamp have the date and the nanoseconds that each would have alone.
func TestStampsAreThoseOfEachRecord(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		r := renderer{file: &file{header: header{offset: testWall + random.Int64N(2e9) - 1e9}}}
		nanos := random.Int64N(1 << (1 + random.IntN(60)))
		for range 100 {
			nanos += random.Int64N(500_001) - 200_000
			if random.IntN(20) == 0 {
				r.shift += random.Int64N(2e6) - 1e6
			}
			wall := time.Unix(0, r.file.offset+r.shift+nanos).UTC()
			want := wall.Format("[2006-01-02T15:04:05.000-0700]") + fmt.Sprintf("[%d", nanos)
			if got := string(r.clocks(nil, nanos)); got != want {
				t.Fatalf("offset %d, shift %d: got %s, want %s", r.file.offset, r.shift, got, want)
			}
		}
	}
}
