package jvm

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/test/lab"
)

// waiting is like alongside, but for a test that mostly waits: the JVMs of all JDKs run at the same time and take
// only one slot of -parallel together. The test gets one of the first slots, because the subtests of other tests queue
// up for a slot after the tests themselves.
func waiting(t *testing.T, test func(t *testing.T, jdk lab.JDK)) {
	t.Helper()
	t.Parallel()
	var all sync.WaitGroup
	for _, jdk := range jdks {
		all.Go(func() { t.Run(jdk.String(), func(t *testing.T) { test(t, jdk) }) })
	}
	all.Wait()
}

// incidentWindow is the default of --hindsight.
const incidentWindow = time.Minute

// incidentRecord limits how much older than the window the oldest lines can be. A record holds the lines between two
// commits, which are a second apart, or more on a busy machine, and is forgotten only when a newer one is appended.
const incidentRecord = 8 * time.Second

// The limits are the defaults, and the incident is a pause of the collector. The sidecar is killed in the minute
// before the incident, and again while it saves that minute.
func TestHindsightHasTheMinuteBeforeAnIncident(t *testing.T) {
	waiting(t, func(t *testing.T, jdk lab.JDK) {
		r := raising(t, jdk, "--persist-level", "info", "--hindsight-on", "pause>500ms", "--sync-interval", "1s", "--compress", "zstd")
		before := incidentWindow + incidentRecord + 4*time.Second
		jvm := debugging(r, "-Xmx1g", "-Xmn2m", "-XX:+UseSerialGC", "LongPause", strconv.FormatInt(before.Milliseconds(), 10), "600", "30")
		time.Sleep(before / 2)
		r.side.Kill()
		r.up()
		time.Sleep(before/2 - time.Second)
		lab.Eventually(t, patience, "lines are held", func() bool { return statusOf(r).Hindsight != nil })
		held := statusOf(r).Hindsight
		lab.Eventually(t, patience, "the JVM had its long pause", func() bool { return !longPause(r).IsZero() })
		r.shipped(detail, "[debug")
		r.side.Kill()
		r.up()
		time.Sleep(3 * time.Second)
		jvm.Terminate()
		r.stop()
		t.Logf("before the incident, %d bytes were held", held.Bytes)
		withheld := persistedExactly(r)
		countedExactly(r, withheld)
		savedOnce(r, withheld, longPause(r))
	})
}

// savedOnce requires that lines were saved, with one mark, for the pause that ended at end. On a busy machine there may
// have been another long pause well before that one.
func savedOnce(r *levelRig, withheld []byte, end time.Time) {
	r.Helper()
	marks := savingMark.FindAllStringSubmatch(r.soFar("ullage.log"), -1)
	if len(marks) == 0 {
		r.Fatalf("got no mark of saved lines, want one: %s", r.soFar("ullage.log"))
	}
	until, err := time.Parse("2006-01-02T15:04:05.000-0700", marks[0][1])
	if err != nil {
		r.Fatal(err)
	}
	if saved := until.Add(-incidentWindow); saved.Before(end) {
		end = saved
	}
	r.Logf("the incident: %s", marks[0][0])
	first, _ := TimeOf(withheld)
	switch early := !first.Before(end.Add(-incidentWindow - incidentRecord)); {
	case early:
		r.Logf("the incident came only %s after the JVM's first line, so no line is too old to be saved", end.Sub(first))
	case len(marks) > 1:
		r.Errorf("%d marks, want one: %q", len(marks), marks)
	}
	savedSince(r, withheld, end.Add(-incidentWindow))
}

var (
	endOfPause = regexp.MustCompile(`(?m)^\[.* GC\(\d+\) Pause .* (\d+)\.\d+ms$`)
	savingMark = regexp.MustCompile(`(?m)^.* mark: detail-saved cause=pause .*until=(\S+)$`)
)

// longPause returns when the JVM logged its first pause of at least 500 ms, or the zero time.
func longPause(r *levelRig) (end time.Time) {
	r.Helper()
	for _, found := range endOfPause.FindAllSubmatch(r.written("gc.log"), -1) {
		if millis, _ := strconv.Atoi(string(found[1])); millis >= 500 {
			end, _ = TimeOf(found[0])
			return end
		}
	}
	return time.Time{}
}

// countedExactly requires that the sidecar counts as withheld exactly the lines that the JVM wrote below info.
func countedExactly(r *levelRig, withheld []byte) {
	r.Helper()
	var class ul.Classifier
	var want lab.Counts
	for line := range bytes.Lines(withheld) {
		want[class.Classify(bytes.TrimSuffix(line, newline)).Level]++
	}
	got, err := lab.Withheld(r.source, "gc.log")
	if err != nil || got != want {
		r.Errorf("%v lines are counted as withheld, want %v, error: %v", got, want, err)
	}
}

// savedSince requires that all withheld lines dated at or after since were saved, and hardly any older ones.
func savedSince(r *levelRig, withheld []byte, since time.Time) {
	r.Helper()
	saved := byThread(r.persisted(detail))
	for thread, want := range byThread(withheld) {
		got := saved[thread]
		delete(saved, thread)
		first := len(want) - len(got)
		if first < 0 || !slices.Equal(want[first:], got) {
			r.Errorf("thread %s: the %d saved lines are not the last of the %d that it wrote", thread, len(got), len(want))
			continue
		}
		for i, line := range want {
			at, ok := TimeOf([]byte(line))
			switch {
			case ok && i < first && !at.Before(since):
				r.Errorf("a line from the window was not saved: %s", line)
			case ok && i >= first && at.Before(since.Add(-incidentRecord)):
				r.Errorf("a line older than the window was saved: %s", line)
			}
		}
	}
	if len(saved) > 0 {
		r.Errorf("lines were saved for %d threads that wrote no withheld lines, want 0", len(saved))
	}
}
