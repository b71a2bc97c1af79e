package jvm

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/read/report"
	"github.com/ullage/ullage/internal/read/report/view"
	"github.com/ullage/ullage/test/lab"
)

const (
	groupRuns   = 20 // of each variant
	groupRounds = 3  // attempts without a change: by chance, a figure differs in at most one of twenty
)

// A workload runs twenty times as it is, twenty times again, and twenty times with a change: 16 MiB more stay live. The
// runs of the variants take turns, so that what else the machine does affects all. Between the first two groups, no
// figure differs beyond chance. With the change, the heap after collections is larger, and the interval of the difference
// is about 16 MiB.
func TestTwoGroupsOfTwentyRuns(t *testing.T) {
	t.Parallel()
	const usual, changed = 8, 24 // MiB that stay live
	for round := range groupRounds {
		same, different := variants(t, usual, changed)
		heap := differenceOf(t, different, "heap after GC")
		t.Logf("without a change: %s", same.Verdict)
		t.Logf("with the change: %s", different.Verdict)
		if more := float64((changed - usual) << 20); !heap.Beyond || *heap.Low > 1.25*more || *heap.High < more/1.25 {
			t.Fatalf("with %d MiB more, the heap after collections does not differ by about as much beyond chance: %s", changed-usual, different.Verdict)
		}
		if strings.HasPrefix(same.Verdict, "No figure of the ") {
			return
		}
		t.Logf("attempt %d of %d: a figure differs without a change", round+1, groupRounds)
	}
	t.Errorf("a figure differs without a change in all %d attempts", groupRounds)
}

// variants runs the workload with the usual live data in two groups and with the changed live data in a third. It
// compares the first group with the second and with the third.
func variants(t *testing.T, usual, changed int) (same, different *view.Groups) {
	t.Helper()
	jdk, dir := jdks[len(jdks)-1], t.TempDir()
	var again, after view.Fleet
	for run := range groupRuns {
		live := []int{usual, usual, changed}
		running := make([]*Process, len(live))
		for next := range live {
			i := (run + next) % len(live) // the order rotates: the first to start may find an idle processor
			log := filepath.Join(dir, fmt.Sprintf("%d-%d.log", run, i))
			p, err := Start(jdk, "-Xms64m", "-Xmx64m", "-Xmn16m", "-XX:+UseSerialGC", Output{Selection: "gc*,safepoint", File: log}.Flag(), "-cp", classes, "Sizes", fmt.Sprint(live[i]), "100", "0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.Kill)
			running[i] = p
		}
		for i, p := range running {
			if err := p.Wait(lab.Patience); err != nil {
				t.Fatal(err)
			}
			r, err := report.Read(context.Background(), []string{filepath.Join(dir, fmt.Sprintf("%d-%d.log", run, i))}, report.Config{})
			if err != nil {
				t.Fatal(err)
			}
			switch i {
			case 0:
				again.Add(view.GroupA, r)
				after.Add(view.GroupA, r)
			case 1:
				again.Add(view.GroupB, r)
			case 2:
				after.Add(view.GroupB, r)
			}
		}
	}
	again.CompareGroups()
	after.CompareGroups()
	return again.Groups, after.Groups
}

// differenceOf returns the difference of a figure.
func differenceOf(t *testing.T, groups *view.Groups, figure string) view.Difference {
	t.Helper()
	for _, d := range groups.Differences {
		if d.Name == figure {
			return d
		}
	}
	t.Fatalf("the groups have no figure %q", figure)
	return view.Difference{}
}
