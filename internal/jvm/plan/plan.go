package plan

import (
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
)

// Plan knows, for each JVM of a source, what is wanted, what the JVM has, and the result of the
// last attempt to change it. Only one goroutine may use it; it starts none.
type Plan struct {
	State    *State
	Draining bool // every JVM is to return to its own selection

	ships func(attach.JVM, attach.Output) bool
	log   *slog.Logger

	found    attach.Found         // the result of the last search
	attempts map[string]attempt   // by JVM ID: the last attempts that failed
	seen     map[string]time.Time // by JVM ID: when it was last found
	ended    map[string]bool      // JVMs that ended while raised, since the last report of changes

	Adoption *Adoption

	awaited time.Time // the trigger's raise waits for its first JVM until then; zero: it does not wait
}

// New returns a Plan without a raise. ships reports whether an output of a JVM is shipped.
func New(ships func(attach.JVM, attach.Output) bool, log *slog.Logger) *Plan {
	p := &Plan{State: NewState(), ships: ships, log: log, attempts: map[string]attempt{}, seen: map[string]time.Time{}, ended: map[string]bool{}}
	p.Adoption = &Adoption{plan: p, settled: map[string]bool{}, attempts: map[string]attempt{}}
	return p
}

// Goal is the raise that every JVM is to have. Zero means each JVM's own selection.
type Goal struct {
	ask.Raise
	from Cause
}

// same reports whether both goals want the same from a JVM.
func (g Goal) same(h Goal) bool { return g.Selection == h.Selection && g.Stream == h.Stream }

// Goal returns the goal for every JVM.
func (p *Plan) Goal(now time.Time) Goal {
	cause, r, on := p.Wanted(now)
	if !on {
		return Goal{}
	}
	return Goal{r.Raise, cause}
}

// Wanted returns the raise that is in effect, or false if no raise is in effect.
func (p *Plan) Wanted(now time.Time) (Cause, Raise, bool) {
	if p.Draining {
		return "", Raise{}, false
	}
	return p.State.Wanted(now)
}

// Annotate turns the annotations into raises. known says whether they have been read.
func (p *Plan) Annotate(req ask.Request, known bool, now time.Time) {
	raises := p.State.Raises
	switch was, ok := raises[FromAnnotation]; {
	case req.LogBad || !known: // nothing changes
	case req.Log.IsZero():
		delete(raises, FromAnnotation)
	case !ok || was.Raise != req.Log:
		raises[FromAnnotation] = Begun(req.Log, string(FromAnnotation), "annotation "+ask.Prefix+"log", now)
	}
	if !req.TriggerBad && known && req.Trigger.IsZero() {
		delete(raises, FromTrigger)
	}
}

// Alarm begins the raise of a trigger that has fired. reason is the condition, and why is a
// human-readable text. The raise waits for its first JVM until awaited.
func (p *Plan) Alarm(asked ask.Raise, reason, why string, now, awaited time.Time) {
	p.State.Raises[FromTrigger] = Begun(asked, reason, "trigger: "+why, now)
	p.State.Fired = true
	p.awaited = awaited
}

// Rest reports whether the goal needs no work and no search for JVMs, apart from tasks in
// progress. If so, Rest forgets the JVMs that were found.
func (p *Plan) Rest(want Goal) bool {
	if !want.IsZero() || len(p.State.JVMs)+len(p.State.Adopted) > 0 || p.Adoption.On() {
		return false
	}
	p.found, p.attempts = attach.Found{}, map[string]attempt{}
	return true
}

// Look records the JVMs that a search found and forgets the JVMs that have certainly ended,
// including a JVM known only by its socket if no process listens on the socket any more. A JVM that
// was merely not found keeps its baseline: its socket or its log may have been removed.
func (p *Plan) Look(found attach.Found, now time.Time) {
	p.found = found
	for _, j := range found.Stale {
		p.forget(j.ID)
	}
	for _, j := range found.JVMs {
		p.seen[j.ID] = now
	}
	for _, id := range p.State.Known() {
		if attach.Ended(id) {
			p.forget(id)
		}
	}
	p.Adoption.prune()
}

// Problems returns the errors of the last search.
func (p *Plan) Problems() []error { return p.found.Problems }

// forget removes the baseline of a JVM that has ended, and the output that it was given.
func (p *Plan) forget(id string) {
	b, a := p.State.JVMs[id], p.State.Adopted[id]
	if b == nil && a == nil {
		return
	}
	if b != nil && !b.Applied.IsZero() {
		p.log.Info("JVM ended while its log level was raised", "pid", b.PID, "raised_to", b.Applied)
	}
	p.ended[id] = true
	delete(p.State.JVMs, id)
	delete(p.State.Adopted, id)
	delete(p.seen, id)
}

// Prune forgets JVMs beyond MaxJVMs, the most that Parse accepts. It keeps the JVMs found now,
// which are at most 16.
func (p *Plan) Prune() {
	all := p.State.Known()
	var gone []string
	for _, id := range all {
		if !p.has(id) {
			gone = append(gone, id)
		}
	}
	slices.SortFunc(gone, func(a, b string) int { return p.seen[a].Compare(p.seen[b]) })
	for n := len(all); n > MaxJVMs; n-- {
		p.forget(gone[0])
		gone = gone[1:]
	}
	maps.DeleteFunc(p.seen, func(id string, _ time.Time) bool { return p.State.JVMs[id] == nil && p.State.Adopted[id] == nil })
}

// has reports whether the last search found a JVM.
func (p *Plan) has(id string) bool {
	return slices.ContainsFunc(p.found.JVMs, func(j attach.JVM) bool { return j.ID == id })
}

// Raised counts the JVMs found now that have a baseline.
func (p *Plan) Raised() (n int) {
	for _, j := range p.found.JVMs {
		if p.State.JVMs[j.ID] != nil {
			n++
		}
	}
	return n
}

// Renew moves the beginning of a trigger's raise to now while the raise waits for the answer of a
// JVM, and once more when the first JVM has accepted the raise. Otherwise, a JVM that is short of
// CPU time might answer after the raise is over, and the trigger would not fire again before its
// cool-down is over. If no JVM answers, the raise is moved only until awaited, and no restart
// prolongs it. busy says whether tasks are under way.
func (p *Plan) Renew(busy bool, now time.Time) {
	r, ok := p.State.Raises[FromTrigger]
	taken := p.took(FromTrigger, r)
	if !ok || r.Ended != "" || !now.Before(p.awaited) || !taken && !busy {
		return
	}
	r.begin(now)
	p.State.Raises[FromTrigger] = r
	if taken {
		p.awaited = time.Time{}
	}
}

// took reports whether one of the JVMs found now has accepted the raise of a cause.
func (p *Plan) took(cause Cause, r Raise) bool {
	return slices.ContainsFunc(p.found.JVMs, func(j attach.JVM) bool {
		b := p.State.JVMs[j.ID]
		return b != nil && b.Cause == cause && b.Applied == r.Selection
	})
}

// NoneToRaise returns an error with the reasons why there is no JVM to raise. If no JVM was found
// at all, the reason is the given text.
func (p *Plan) NoneToRaise(none string) error {
	var why []error
	for _, a := range p.attempts {
		why = append(why, a.err)
	}
	if why = append(why, p.found.Problems...); len(why) > 0 {
		return errors.Join(why...)
	}
	if len(p.found.Stale) > 0 {
		none += "; no process listens on the sockets left there"
	}
	return errors.New(none)
}

// Has reports whether one of the JVMs found now has what a raise asks for, whatever the cause.
func (p *Plan) Has(r ask.Raise) bool {
	return slices.ContainsFunc(p.found.JVMs, func(j attach.JVM) bool {
		b := p.State.JVMs[j.ID]
		return b != nil && !b.Unsure && b.Applied == r.Selection && b.Stream == r.Stream
	})
}
