package sink

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The sink has all lines of segment 1, which retention deletes, as --retain-age does in a quiet
// pod. The next lines are delivered once, including the first of them. (The cursor does not hold
// the head of the segment. So a Follower that assumed a restart would strip the same number of raw
// bytes from the next segment without comparing them.)
func TestLinesBehindADeletedFirstSegmentComeOnce(t *testing.T) {
	for _, n := range []int{1, 50, 100, 400} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			r := newRig(t, false)
			lines := func(what string, n int) (all []string) {
				for i := range n {
					all = append(all, fmt.Sprintf("[1s][info][gc] %s %03d %s", what, i, strings.Repeat("x", 60)))
				}
				return all
			}
			r.commits("gc.log", lines("first", 100)...) // fills segment 1
			r.gets(100)
			first := r.list("gc.log")[0]
			r.waits("segment 1 is acknowledged", func() bool { return r.has(first) })
			r.must(os.Remove(first.Path))
			r.set.Deleted(first)
			second := lines("second", n)
			r.commits("gc.log", second...)
			newest := r.list("gc.log")
			r.waits("segment 2 is acknowledged", func() bool { return r.has(newest[len(newest)-1]) })
			times := map[string]int{}
			for _, l := range r.engine.got()[100:] {
				_, text, _ := strings.Cut(l, " info ")
				times[text]++
			}
			lost, again, odd := 0, 0, len(times)
			for _, l := range second {
				switch times[l] {
				case 0:
					lost++
				case 1:
					odd--
				default:
					again++
					odd--
				}
			}
			if lost+again+odd > 0 {
				t.Errorf("of %d lines, %d are lost, %d were repeated, and %d unexpected ones arrived; the sink reports: lag %g s, skipped segments %d", n, lost, again, odd, r.set.Status()[0].LagSeconds, r.set.Status()[0].SkippedSegments)
			}
		})
	}
}
