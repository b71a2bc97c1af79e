package levels

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/jvm/plan"
	"github.com/ullage/ullage/internal/line/loggers"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/test/lab/marked"
)

// asked records the levels that a Loop asks the application for.
type asked struct {
	mu sync.Mutex
	to loggers.Levels
}

func (a *asked) set(to loggers.Levels) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.to = to
}

func (a *asked) is(level ul.Level) bool { return a.has(loggers.Of(level)) }

func (a *asked) has(to loggers.Levels) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.to == to
}

// application returns a pod without a JVM to attach to: application events do not need one.
func application(t *testing.T) (*rig, *asked, *marked.Marks) {
	t.Helper()
	r, a, m := newRig(t), &asked{}, &marked.Marks{}
	r.to.AppLevels, r.to.Mark = a.set, m.Add
	return r, a, m
}

func TestTheApplicationIsRaisedByAnAnnotation(t *testing.T) {
	t.Parallel()
	r, a, m := application(t)
	p := r.process()
	const until = ` until=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`
	for _, step := range []struct {
		name  string
		pairs []string
		want  string
		mark  string // empty: none
	}{
		{"nothing", nil, "", ""},
		{"a level", []string{"app-log", "debug", "app-log-for", "10m"}, "debug", `app-level-raised level=debug why="annotation ullage.dev/app-log"` + until},
		{"a bad value", []string{"app-log", "loud"}, "debug", ""},
		{"another level", []string{"app-log", "TRACE"}, "trace", `app-level-raised level=trace why="annotation ullage.dev/app-log"` + until},
		{"loggers", []string{"app-log", "com.acme=debug, org.h.SQL=TRACE"}, "com.acme=debug,org.h.SQL=trace",
			`app-level-raised level=com.acme=debug,org.h.SQL=trace why="annotation ullage.dev/app-log"` + until},
		{"a bad logger", []string{"app-log", "com.acme.*=debug"}, "com.acme=debug,org.h.SQL=trace", ""},
		{"no level", nil, "", `app-level-restored level=com.acme=debug,org.h.SQL=trace why="the annotation is gone"`},
	} {
		r.annotate(step.pairs...)
		p.step()
		var want loggers.Levels
		must(t, want.UnmarshalText([]byte(step.want)))
		if !a.has(want) {
			t.Errorf("%s: the application is asked for %v, want %v", step.name, a.to, want)
		}
		if shown := p.Status().App.Level; shown != step.want {
			t.Errorf("%s: the status shows %q, want %q", step.name, shown, step.want)
		}
		if step.mark != "" {
			m.Gives(t, step.mark)
		} else {
			m.Gives(t)
		}
	}
	p.log.says(t, 3, "application log level raised")
	p.log.says(t, 1, "application log level restored")
}

func TestARaiseOfTheApplicationRunsOutAndDoesNotComeBack(t *testing.T) {
	t.Parallel()
	r, a, m := application(t)
	r.annotate("app-log", "debug", "app-log-for", "1s")
	p := r.process()
	stop := p.run()
	within(t, patience, "the application is raised", func() bool { return a.is(ul.Debug) })
	until := p.Status().App.Until
	within(t, patience, "the raise is over", func() bool { return a.is(ul.Unknown) })
	if late := time.Since(until); late < 0 {
		t.Errorf("the raise ended %s too early", -late)
	}
	must(t, stop())
	m.Take()
	p = r.process() // the annotation is still there
	for range 3 {
		p.step()
	}
	if !a.is(ul.Unknown) {
		t.Errorf("the application is asked for %v again, want no level", a.to)
	}
	m.Gives(t)
	r.annotate("app-log", "debug", "app-log-for", "1s", "app-log-id", "again")
	p.step()
	if got := p.Status().App.ID; !a.is(ul.Debug) || got != "again" {
		t.Errorf(`with another ID, the application is asked for %v by ID %q, want debug by ID "again"`, a.to, got)
	}
}

// A raise ends on time, and with a mark, even if the sidecar is killed meanwhile.
func TestARaiseOfTheApplicationOutlivesAKillUntilItsEnd(t *testing.T) {
	t.Parallel()
	r, a, m := application(t)
	r.annotate("app-log", "debug", "app-log-for", "1h")
	p := r.process()
	p.step()
	until := p.Status().App.Until
	m.Take()
	a.set(loggers.Levels{})
	p = r.process()
	p.step()
	if got := p.Status().App.Until; !a.is(ul.Debug) || !got.Equal(until) {
		t.Errorf("the application is asked for %v until %s, want debug until %s", a.to, got, until)
	}
	m.Gives(t)
	r.annotate()
	p = r.process()
	p.step()
	if !a.is(ul.Unknown) {
		t.Errorf("the application is asked for %v, want no level", a.to)
	}
	m.Gives(t, `app-level-restored level=debug why="the annotation is gone"`)
}

// A command's raise takes precedence over an annotation's. A reset ends both.
func TestTheApplicationIsRaisedByACommand(t *testing.T) {
	t.Parallel()
	r, a, m := application(t)
	r.annotate("app-log", "info", "app-log-for", "1h")
	p := r.process()
	stop := p.run()
	within(t, patience, "the annotation's raise, and its mark", func() bool { return a.is(ul.Info) && len(m.Take()) > 0 })
	c := r.command()
	until, err := c.SetApp(t.Context(), loggers.Of(ul.Trace), time.Hour)
	if left := time.Until(until); err != nil || !a.is(ul.Trace) || left > time.Hour || left < time.Hour-patience {
		t.Fatalf("the raise ends at %s, error %v; the application is asked for %v; want an end in %s, no error and trace", until, err, a.to, time.Hour)
	}
	if st := p.Status().App; st.Level != "trace" || !st.Until.Equal(until) {
		t.Errorf("the status is %+v, want trace until %s", st, until)
	}
	m.Gives(t, `app-level-raised level=trace why="ullage levels set" by="uid \d+(, pid \d+)?" until=\S+`)
	if _, err := c.SetApp(t.Context(), loggers.Of(ul.Debug), 1200*time.Millisecond); err != nil || !a.is(ul.Debug) {
		t.Errorf("error %v; the application is asked for %v; want no error and debug", err, a.to)
	}
	m.Take()
	within(t, patience, "the annotation's raise is in effect again", func() bool { return a.is(ul.Info) })
	_, err = c.SetApp(t.Context(), loggers.Of(ul.Trace), time.Hour)
	must(t, err)
	m.Take()
	_, ended, err := c.Reset(t.Context())
	if err != nil || ended != loggers.Of(ul.Trace) || !a.is(ul.Unknown) {
		t.Errorf("error %v; a raise to %v ended, and the application is asked for %v; want no error, trace and no level", err, ended, a.to)
	}
	m.Gives(t, `app-level-restored level=trace why="ullage levels reset"`)
	if _, ended, err = c.Reset(t.Context()); err != nil || !ended.IsZero() {
		t.Errorf("error %v; the second reset ended a raise to %v; want no error and no raise", err, ended)
	}
	must(t, stop())
	p = r.process() // the annotation is still there
	p.step()
	if !a.is(ul.Unknown) {
		t.Errorf("the application is asked for %v again, want no level", a.to)
	}
}

func TestACommandsRaiseOfTheApplicationOutlivesAKillButNoDrain(t *testing.T) {
	t.Parallel()
	r, a, _ := application(t)
	r.annotate()
	p := r.process()
	p.during(func() {
		_, err := r.command().SetApp(t.Context(), loggers.Of(ul.Debug), time.Hour)
		must(t, err)
	})
	a.set(loggers.Levels{})
	p.kill()
	p = r.process()
	stop := p.run()
	within(t, patience, "the raise continues", func() bool { return a.is(ul.Debug) })
	must(t, stop())
	p = r.process()
	p.step()
	if !a.is(ul.Unknown) {
		t.Errorf("the application is asked for %v, want no level", a.to)
	}
}

func TestADrainRestoresTheApplication(t *testing.T) {
	t.Parallel()
	r, a, _ := application(t)
	r.annotate("app-log", "debug")
	p := r.process()
	stop := p.run()
	within(t, patience, "the application is raised", func() bool { return a.is(ul.Debug) })
	must(t, stop())
	if !a.is(ul.Unknown) {
		t.Errorf("the application is asked for %v, want no level", a.to)
	}
	p.log.says(t, 1, plan.WhyDrained)
	r.process().step()
	if !a.is(ul.Debug) {
		t.Error("the application is not asked for debug, want the next sidecar to continue the raise")
	}
}

func TestASavedRaiseOfTheApplicationIsNotTrusted(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no level":     `{"raises":{},"jvms":{},"app":{"level":"unknown","for":1000000000,"until":"2100-01-01T00:00:00Z"}}`,
		"for ever":     `{"raises":{},"jvms":{},"app":{"level":"debug","for":9000000000000000,"until":"2100-01-01T00:00:00Z"}}`,
		"of a command": `{"raises":{},"jvms":{},"appSet":{"level":"unknown","for":1000000000,"until":"2100-01-01T00:00:00Z"}}`,
		"bad level":    `{"raises":{},"jvms":{},"app":{"level":"loud"}}`,
	} {
		if s, err := plan.Parse([]byte(text), time.Now()); err == nil || s != nil && (s.App != nil || s.AppSet != nil) {
			t.Errorf("%s: the state is %+v, error %v; want an error and no raise of the application", name, s, err)
		}
	}
	r, a, _ := application(t)
	r.annotate("app-log", "debug", "app-log-for", "1m")
	r.process().step()
	saved, err := os.ReadFile(r.state("levels.json"))
	must(t, err)
	s, err := plan.Parse(saved, time.Now())
	must(t, err)
	late := *s.App
	late.Until = time.Now().Add(time.Hour)
	s.App = &late
	p := r.process()
	must(t, p.memory.file.Save(s))
	p.step()
	if got := time.Until(p.Status().App.Until); !a.is(ul.Debug) || got > time.Minute {
		t.Errorf("a raise of a minute lasts %s more, and the application is asked for %v; want at most %s, and debug", got, a.to, time.Minute)
	}
}
