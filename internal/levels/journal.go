package levels

import (
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/attach"
	"github.com/ullage/ullage/internal/podmeta"
	"github.com/ullage/ullage/internal/printable"
)

// Bounds on what is logged about JVMs: what they answer is theirs to choose, and
// they may come and go as fast as they like.
const (
	maxHolding = 32 // errors that hold at a time
	maxWarns   = 30 // lines of the log
	warnPeriod = time.Minute

	// maxQuoted bounds one error. A refusal has HotSpot's suggestions in it.
	maxQuoted = 2048
)

// journal logs and counts what happens to the levels: each change, and each
// error when it begins.
type journal struct {
	log     *slog.Logger
	metrics metrics

	holding    map[string]bool   // errors that are logged already and still hold
	noted      []podmeta.Problem // bad annotations that are logged already
	warned     time.Time         // when warns was last 0
	warns      int               // errors that were logged since
	reconciled time.Time         // when all JVMs last had what is wanted
}

// change logs and counts a change.
func (j *journal) change(c Change) {
	if c.restored {
		j.metrics.restores.Inc()
		j.log.Info("log level restored", "pid", c.PID, "output", c.Output, "from", c.From, "to", c.To, "why", c.Why)
		return
	}
	j.metrics.raises.WithLabelValues(c.reason).Inc()
	j.log.Info("log level raised", "pid", c.PID, "output", c.Output, "from", c.From, "to", c.To, "why", c.Why,
		"until", c.Until.Add(time.Second-1).UTC().Format(time.RFC3339)) // rounded up: it is not over before
}

// annotations logs what is wrong with the annotations, each time that it has
// changed.
func (j *journal) annotations(notes *annotations) {
	n := len(notes.problems)
	for _, p := range notes.problems {
		if slices.Contains(j.noted, p) {
			continue
		}
		j.log.Warn("bad annotation", "annotation", p.Key, "value", p.Value, "problem", p.Text,
			"hint", "it changes nothing until it is corrected")
	}
	j.noted = notes.problems
	if notes.err != nil {
		n++
		j.log.Warn("cannot read the annotations", "error", notes.err,
			"hint", "the last readable annotations stay in effect")
	}
	j.metrics.problems.Set(float64(n))
}

// errors logs each error when it begins, and again only after it has ended in
// between. Finding are those of looking for JVMs, which are counted as well.
func (j *journal) errors(now time.Time, all, finding []error) {
	for _, e := range finding {
		if !j.holding[e.Error()] {
			j.metrics.attach.WithLabelValues(string(attach.KindOf(e))).Inc()
		}
	}
	holding := map[string]bool{}
	for _, e := range all {
		holding[e.Error()] = true
	}
	maps.DeleteFunc(holding, func(string, bool) bool { return len(holding) > maxHolding })
	for text := range holding {
		if !j.holding[text] {
			j.warn(now, text)
		}
	}
	j.holding = holding
}

// warn logs an error, but not more than maxWarns in a minute.
func (j *journal) warn(now time.Time, text string) {
	if now.Sub(j.warned) > warnPeriod {
		j.warned, j.warns = now, 0
	}
	switch j.warns++; {
	case j.warns < maxWarns:
		j.log.Warn("log levels are not as wanted", "error", printable.Escaped(text, maxQuoted))
	case j.warns == maxWarns:
		j.log.Warn("log levels have too many errors to log", "hint", "ullage status shows those that hold now")
	}
}

// allWell notes that all JVMs have what is wanted.
func (j *journal) allWell(now time.Time) {
	j.reconciled = now
	j.metrics.setReconciled(now)
}
