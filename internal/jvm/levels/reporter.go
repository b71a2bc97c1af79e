package levels

import (
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/plan"
	"github.com/ullage/ullage/internal/line/mark"
)

// Bounds on log lines about JVMs: a JVM controls the text of its answers, and JVMs may start and
// end very often.
const (
	maxHolding = 32 // concurrent errors
	maxWarns   = 30 // log lines a minute
	warnPeriod = time.Minute

	// maxQuoted bounds the text of one error, in the log and in the status, in bytes. It is large because a
	// refusal includes HotSpot's suggestions.
	maxQuoted = 2048
)

// reporter logs, counts and marks changes of levels. It logs each error when the error first
// occurs.
type reporter struct {
	log     *slog.Logger
	metrics metrics
	mark    func(mark.Mark) // nil: changes are not marked

	holding    map[string]bool // logged errors that still persist
	noted      []ask.Problem   // logged bad annotations
	warned     time.Time       // when warns was last reset
	warns      int             // errors logged since then
	reconciled time.Time       // when all JVMs last had the wanted selection
}

// change logs and marks a change of an output. It counts only the first change of each JVM.
func (r *reporter) change(c plan.Change) {
	r.note(c.Mark())
	switch {
	case c.Adoption && c.Restored:
		// messages.md#log-levels: The output that the sidecar gave the JVM is gone, and the JVM's log
		// configuration is as it was before.
		r.log.Info("JVM released", "pid", c.PID, "output", c.Output, "selection", c.From, "why", c.Why)
		return
	case c.Adoption:
		// messages.md#log-levels: The JVM had no output into the source, and `--adopt` gave it one.
		r.log.Info("JVM adopted", "pid", c.PID, "output", c.Output, "selection", c.To)
		return
	}
	if c.Restored {
		if c.First {
			r.metrics.restores.Inc()
		}
		// messages.md#log-levels: The output has its former selection again.
		r.log.Info("log level restored", "pid", c.PID, "output", c.Output, "from", c.From, "to", c.To, "why", c.Why)
		return
	}
	if c.First {
		r.metrics.raises.WithLabelValues(c.Reason).Inc()
	}
	// messages.md#log-levels: `output`, `from`, `to`, `why` and `until` describe the change.
	r.log.Info("log level raised", "pid", c.PID, "output", c.Output, "from", c.From, "to", c.To, "why", c.Why,
		"until", plan.ShownEnd(c.Until))
}

// note writes a mark, unless changes are not marked.
func (r *reporter) note(m mark.Mark) {
	if r.mark != nil {
		r.mark(m)
	}
}

// annotations logs the problems of the annotations when they change.
func (r *reporter) annotations(notes *annotations) {
	n := len(notes.problems)
	for _, p := range notes.problems {
		if slices.Contains(r.noted, p) {
			continue
		}
		// messages.md#log-levels: The annotation has no effect until it is corrected. `ullage
		// status` shows it; [Log levels](levels.md#annotations) describes its form.
		r.log.Warn("bad annotation", "annotation", p.Key, "value", p.Value, "problem", p.Text,
			"hint", "the annotation has no effect until it is corrected")
	}
	r.noted = notes.problems
	if notes.err != nil {
		n++
		// messages.md#log-levels: The last readable annotations stay in effect.
		r.log.Warn("cannot read the annotations", "error", notes.err,
			"hint", "the last readable annotations stay in effect")
	}
	r.metrics.problems.Set(float64(n))
}

// errors logs each error when it first occurs, and again only if it recurs after it had ended.
// finding holds the errors of the search for JVMs, which are also counted.
func (r *reporter) errors(now time.Time, all, finding []error) {
	for _, e := range finding {
		if !r.holding[e.Error()] {
			r.metrics.attach.WithLabelValues(string(attach.KindOf(e))).Inc()
		}
	}
	holding := map[string]bool{}
	for _, e := range all {
		holding[e.Error()] = true
	}
	maps.DeleteFunc(holding, func(string, bool) bool { return len(holding) > maxHolding })
	for text := range holding {
		if !r.holding[text] {
			r.warn(now, text)
		}
	}
	r.holding = holding
}

// warn logs an error, up to maxWarns errors a minute.
func (r *reporter) warn(now time.Time, text string) {
	if now.Sub(r.warned) > warnPeriod {
		r.warned, r.warns = now, 0
	}
	switch r.warns++; {
	case r.warns < maxWarns:
		// messages.md#log-levels: A JVM could not be reached, refused the change, or has not
		// started yet; `error` has the cause. Logged once until that is over. [Log
		// levels](levels.md#the-way-to-the-jvm) describes what to do.
		r.log.Warn("log levels could not be applied", "error", printable.Escaped(text, maxQuoted))
	case r.warns == maxWarns:
		// messages.md#log-levels: More errors occurred in a minute than ullage logs. `ullage
		// status` shows the current errors.
		r.log.Warn("too many log level errors to log", "hint", "ullage status shows the current errors")
	}
}

// allWell notes that all JVMs have the wanted selection.
func (r *reporter) allWell(now time.Time) {
	r.reconciled = now
	r.metrics.setReconciled(now)
}
