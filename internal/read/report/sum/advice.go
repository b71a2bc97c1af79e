package sum

import (
	"fmt"

	"github.com/ullage/ullage/internal/read/report/view"
)

// Thresholds for advice. Numbers below them are too weak to support advice.
const (
	adviceStops    = 100  // with fewer stops, shares are meaningless
	adviceOverhead = 0.05 // share of the time in stops
	adviceReaching = 0.1  // seconds it takes to reach a safepoint
	leak           = 0.2  // growth over the log, as a share of the heap in use
)

// advise adds the advice that the numbers support. waited is the number of suspected stops in
// which the JVM seems to have waited for the machine. unshipped is how many of these stops are
// in a log that no sidecar has shipped: if a JVM's log is shipped, the JVM writes it to a tmpfs already.
func advise(r *view.Report, waited, unshipped uint64) {
	t := &r.Totals
	add := func(text, evidence string, values ...any) {
		r.Advice = append(r.Advice, view.Advice{Text: text, Evidence: fmt.Sprintf(evidence, values...)})
	}
	if waited > 0 {
		text := "Look at what the machine did during these stops: a disk, swapping, or a CPU quota."
		if unshipped > 0 {
			text += " If the JVM itself writes this log to a disk, move the log to a tmpfs."
		}
		add(text,
			"In %d of %s, a pause of %s or longer had no thread on a CPU for at least half of it, or the safepoint spent that long outside its pauses.",
			waited, view.Plural(t.Suspected, "suspected stall"), view.Duration(r.Floor))
	}
	if t.Exhausted > 0 {
		add("Give the heap more room, or let concurrent marking start earlier: there was no room to move objects to.",
			"%d of %d collections had an evacuation failure.", t.Exhausted, t.Collections)
	}
	if t.Degenerated > 0 {
		failed := ""
		if t.Failed > 0 {
			failed = ", and " + view.Plural(t.Failed, "allocation") + " failed until a collection made room"
		}
		add("Let Shenandoah start earlier, or lower the allocation rate: it had to finish with the application stopped.",
			"%d of %d collections degenerated%s.", t.Degenerated, t.Collections, failed)
	}
	if t.Waits > 0 {
		add("Give ZGC a larger heap or more threads: threads had to wait for memory.",
			"%s, %s in all.", view.Plural(t.Waits, "allocation stall"), view.Duration(t.WaitSum))
	}
	for _, c := range r.Causes {
		if c.Kind == "full" && c.Name == "full · System.gc()" && c.Sum >= 0.2*t.Paused {
			add("Find who calls System.gc(), or set -XX:+ExplicitGCInvokesConcurrent or -XX:+DisableExplicitGC.",
				"%s stopped the application for %s, %.0f %% of the total time in stops.", view.Plural(c.Count, "call"), view.Duration(c.Sum), 100*c.Sum/t.Paused)
		}
		if c.Kind == "full" && c.Name != "full · System.gc()" && c.Name != "full · Diagnostic Command" {
			add("Give the heap more room, or find what fills it: a full collection is a collector's last resort.",
				"%s, up to %s: %s.", view.Plural(c.Count, "stop"), view.Duration(c.Max), c.Name)
		}
	}
	if t.Throughput != nil && 1-*t.Throughput >= adviceOverhead && t.Stops-t.Outside >= adviceStops {
		add("The application is stopped often: a larger heap, or a concurrent collector, would take less of its time.",
			"%d stops took %.1f %% of %s.", t.Stops-t.Outside, 100*(1-*t.Throughput), view.Duration(t.Span))
	}
	for _, s := range r.Spreads {
		if s.Name == "time to safepoint" && s.Max >= adviceReaching {
			add("Find the thread that reaches safepoints late, with -Xlog:safepoint*=debug or -XX:+SafepointTimeout: a long counted loop, a page fault, or a starved CPU.",
				"The threads took up to %s to stop.", view.Duration(s.Max))
		}
	}
	for _, run := range r.Runs {
		if run.Trend != nil && run.HeapAfter != nil && *run.Trend*(run.End-run.Begin)/3600 > leak**run.HeapAfter {
			add("Look for a leak: the heap in use after collections grows.",
				"%s, run %d: %s more every hour, %s at the end.", run.Stream, run.Number, view.Size(*run.Trend), view.Size(*run.HeapAfter))
		}
	}
}
