package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/jvm/adopt"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/read/report/view"
	"github.com/ullage/ullage/internal/sidecar"
)

const (
	lookEvery = 250 * time.Millisecond
	sayEvery  = time.Minute // without a terminal

	// adoptPatience is how long a JVM may be too busy to accept its output.
	adoptPatience = 20 * time.Second
)

// visit is one adopted JVM, with its own sidecar. The sidecar's goroutines use only cfg, answers, done and err. All
// other fields belong to one goroutine.
type visit struct {
	guest  adopt.Guest
	place  *adopt.Place
	cfg    sidecar.Config
	client *attach.Client
	began  time.Time

	answers atomic.Pointer[admin.Answers] // of the sidecar; nil before it begins
	cancel  context.CancelFunc
	done    chan struct{} // the sidecar has ended
	err     error         // of the sidecar; valid once done is closed

	adopted bool
	gone    bool  // the JVM has ended
	refused error // why the JVM was not adopted
	stops   stops
	lines   int64
	waits   string // why lines are not becoming durable
}

// stops has the number of stops of a JVM's threads, and the length of the longest stop. If a JVM stops more often
// between two calls of add than a sidecar remembers, some stops are missing here, but not in the report.
type stops struct {
	n       int
	longest float64     // seconds
	last    admin.Pause // the latest of them
}

// add adds those of the pauses that come after s.last. The pauses are sorted from oldest to newest. Their times alone
// do not show which are new, because the clock may have been set back.
func (s *stops) add(pauses []admin.Pause) {
	known := 0
	for i, p := range pauses {
		if p.At.Equal(s.last.At) && p.Stream == s.last.Stream && p.Seconds == s.last.Seconds {
			known = i + 1
		}
	}
	for _, p := range pauses[known:] {
		s.n++
		s.longest = max(s.longest, p.Seconds)
		s.last = p
	}
}

// shown stores the answers of the sidecar.
func (v *visit) shown(a admin.Answers) { v.answers.Store(&a) }

// start starts the sidecar. The sidecar ends with v.cancel, not with ctx: the host decides when the JVM is released.
func (v *visit) start(ctx context.Context, busy func(bool), log *slog.Logger) {
	v.began, v.done = time.Now(), make(chan struct{})
	v.client = attach.New(v.cfg.Levels.Attach, "")
	ctx, v.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(v.done)
		v.err = sidecar.Run(ctx, v.cfg, build.Read(version), busy, log)
	}()
}

// over reports whether the visit has ended or is about to end.
func (v *visit) over() bool {
	select {
	case <-v.done:
		return true
	default:
		return v.gone || v.refused != nil
	}
}

// look checks the JVM and its sidecar. It ends the visit if the JVM has ended or cannot be adopted.
func (v *visit) look() {
	a := v.answers.Load()
	if a == nil || v.over() {
		return
	}
	v.take(a)
	switch {
	case !v.client.Alive(v.guest.JVM):
		v.gone = true
	case !v.adopted:
		v.refused = v.refusal(a)
	}
	if v.over() {
		v.cancel()
	}
}

// take records the state of the sidecar.
func (v *visit) take(a *admin.Answers) {
	st, ok := a.Status().(admin.Status)
	if !ok {
		return
	}
	v.lines, v.waits = st.Persisted.Lines, st.Reason
	v.stops.add(a.Recent().Pauses)
	if st.Levels == nil {
		return
	}
	for _, j := range st.Levels.JVMs {
		v.adopted = v.adopted || j.Adopted != ""
	}
}

// refusal returns why the JVM has not been adopted and will not be, or nil if it may still be adopted.
func (v *visit) refusal(a *admin.Answers) error {
	if err := a.Ready(); errors.Is(err, statedir.ErrOwned) {
		return fmt.Errorf("%s is being adopted already: %w", v.guest.JVM, err)
	}
	st, ok := a.Status().(admin.Status)
	if !ok || st.Levels == nil {
		return nil
	}
	for _, j := range st.Levels.JVMs {
		if j.Error != "" && j.Kind != string(attach.TimedOut) {
			return errors.New(j.Error)
		}
	}
	if time.Since(v.began) < adoptPatience {
		return nil
	}
	why := strings.Join(st.Levels.Errors, "; ")
	if why == "" {
		why = st.Reason
	}
	return fmt.Errorf("%s was not adopted within %s: %s", v.guest.JVM, adoptPatience, why)
}

// end waits for the cancelled sidecar and removes the files that it no longer needs.
func (v *visit) end() error {
	<-v.done
	if a := v.answers.Load(); a != nil {
		v.take(a)
	}
	err := v.err
	switch {
	case err != nil && v.place.Holds():
		err = fmt.Errorf("%w; the lines that were not shipped are in %s, and 'ullage adopt' of the same JVM continues there", err, v.place.Path)
	case !errors.Is(v.refused, statedir.ErrOwned): // lines that a sink has not received are in the destination
		err = errors.Join(err, v.place.Remove())
	}
	v.place.Close()
	return errors.Join(v.refused, err)
}

// host watches over visits.
type host struct {
	lasts   time.Duration
	visits  []*visit
	out     *notes
	stopped func() bool // whether another process wants the visits to end
}

// wait shows the progress until the time is over, ctx ends, or no visit is left. Then it cancels all visits.
func (h *host) wait(ctx context.Context) {
	over := time.After(h.lasts)
	ends := time.Now().Add(h.lasts)
	looks := time.NewTicker(lookEvery)
	defer looks.Stop()
	for waiting := true; waiting; {
		select {
		case <-ctx.Done():
			waiting = false
		case <-over:
			waiting = false
		case <-looks.C:
			waiting = h.look(time.Until(ends)) && !h.stopped()
		}
	}
	for _, v := range h.visits {
		v.cancel()
	}
}

// look looks at all visits and reports whether any is still running.
func (h *host) look(left time.Duration) (some bool) {
	for _, v := range h.visits {
		adopted, gone := v.adopted, v.gone
		v.look()
		if v.adopted && !adopted {
			h.out.say("adopted %s: it logs %s to %s for %s", v.guest, v.cfg.Levels.Adopt, v.place.Path, printable.Seconds(h.lasts.Seconds()))
		}
		if v.gone && !gone {
			h.out.say("%s has ended", v.guest.JVM)
		}
		some = some || !v.over()
	}
	if some {
		h.out.progress(h.summary() + ", " + left.Round(time.Second).String() + " left")
	}
	return some
}

// summary describes the stops and lines so far.
func (h *host) summary() string {
	var all stops
	lines, waits := int64(0), ""
	for _, v := range h.visits {
		all.n += v.stops.n
		all.longest = max(all.longest, v.stops.longest)
		lines += v.lines
		if v.waits != "" {
			waits = ", waiting: " + printable.Line(v.waits)
		}
	}
	text := fmt.Sprintf("%s, the longest %s, %s", view.Plural(uint64(all.n), "stop"), view.Duration(all.longest), view.Plural(uint64(lines), "line"))
	if len(h.visits) > 1 {
		text = fmt.Sprintf("%d JVMs: %s", len(h.visits), text)
	}
	return text + waits
}

// end waits for the end of all visits.
func (h *host) end() error {
	var bad []error
	for _, v := range h.visits {
		bad = append(bad, v.end())
	}
	h.out.say("released: %s", h.summary())
	return errors.Join(bad...)
}

// notes writes messages for people. On a terminal, the last line shows the progress and is overwritten.
type notes struct {
	mu   sync.Mutex
	w    io.Writer
	line *cli.Progress // nil: no terminal
	said time.Time     // when progress was last printed without a terminal
}

func newNotes(w io.Writer) *notes { return &notes{w: w, line: cli.NewProgress(w), said: time.Now()} }

// say prints a line that remains.
func (n *notes) say(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.line.Clear()
	fmt.Fprintln(n.w, printable.Line(fmt.Sprintf(format, args...)))
}

// Write writes the log of a sidecar without damaging the line that changes.
func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.line.Clear()
	return n.w.Write(p)
}

// progress shows how far the visits have come.
func (n *notes) progress(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.line.Show(text)
	if n.line == nil && time.Since(n.said) >= sayEvery {
		n.said = time.Now()
		fmt.Fprintln(n.w, printable.Line(text))
	}
}
