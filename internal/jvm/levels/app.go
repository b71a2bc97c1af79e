package levels

import (
	"errors"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
)

// appRaise is a level that the application's events are raised to for a while. It never changes.
type appRaise struct {
	Level ul.Level      `json:"level"`
	For   time.Duration `json:"for"` // the requested duration
	Until time.Time     `json:"until"`
	By    string        `json:"by,omitempty"` // the process that asked for it; empty: no process did, or it is unknown
}

// on reports whether the raise is in effect. There may be none.
func (r *appRaise) on(now time.Time) bool { return r != nil && now.Before(r.Until) }

// sound returns a saved raise as it may be used, or nil if nobody can have asked for it.
func (r *appRaise) sound() *appRaise {
	if r == nil || r.Level == ul.Unknown || ask.CheckFor(r.For) != nil {
		return nil
	}
	return &appRaise{r.Level, r.For, savable(r.Until), printable.Escaped(r.By, maxWhy)}
}

// bounded returns r, or what is left of it after a clock was set back: that prolongs no raise.
func (r *appRaise) bounded(now time.Time) *appRaise {
	if r == nil || !r.Until.After(now.Add(r.For)) {
		return r
	}
	return &appRaise{r.Level, r.For, now.Add(r.For), r.By}
}

const (
	whyAppLog = "annotation " + ask.Prefix + "app-log"
	whySet    = "ullage log set"
	whyReset  = "ullage log reset"
)

// checkApps removes saved raises of the application that nobody can have asked for.
func (s *state) checkApps() (err error) {
	for _, r := range []**appRaise{&s.App, &s.AppSet} {
		if saved := *r; saved != nil {
			if *r = saved.sound(); *r == nil {
				err = errors.New("a saved raise of the application is not sound")
			}
		}
	}
	return err
}

// app returns the raise of the application that is in effect, and why: a command's is over an annotation's. There
// may be none.
func (s *state) app(now time.Time) (r *appRaise, why string) {
	switch {
	case s.AppSet.on(now):
		return s.AppSet, whySet
	case s.App.on(now):
		return s.App, whyAppLog
	}
	return nil, ""
}

// setApp begins the raise of an errand.
func (s *state) setApp(e *errand, now time.Time) {
	now = now.Round(0) // without the monotonic clock, as a saved state has none
	s.AppSet = &appRaise{e.App, e.For, now.Add(e.For), e.by}
	e.until = s.AppSet.Until
}

// endApps ends the raises of the application early. An annotation's stays, like one that is over.
func (s *state) endApps(now time.Time) {
	if s.AppSet = nil; s.App.on(now) {
		s.App = &appRaise{s.App.Level, s.App.For, now.Round(0), s.App.By}
	}
}

// wantApp turns the annotations of the application's events into a raise. A raise that is over stays as long as
// its annotation does, so that it does not begin again.
func (s *state) wantApp(notes *annotations, draining bool, now time.Time) {
	req := notes.request
	now = now.Round(0)
	switch {
	case req.AppLogBad || notes.unknown: // nothing changes
	case req.AppLog == ul.Unknown:
		s.App = nil
	case s.App == nil || s.App.Level != req.AppLog || s.App.For != req.AppLogFor:
		s.App = &appRaise{req.AppLog, req.AppLogFor, now.Add(req.AppLogFor), ""}
	}
	s.App, s.AppSet = s.App.bounded(now), s.AppSet.bounded(now)
	if !s.AppSet.on(now) || draining {
		s.AppSet = nil
	}
	s.AppLevel = ul.Unknown
	if r, _ := s.app(now); r != nil && !draining {
		s.AppLevel = r.Level
	}
}

// raiseApp passes on what wantApp has found, and logs and marks a change since before.
func (l *Loop) raiseApp(before *state, now time.Time) {
	s := l.fleet.state
	if l.to.AppLevel == nil {
		return
	}
	l.to.AppLevel(s.AppLevel)
	if s.AppLevel == before.AppLevel {
		return
	}
	if s.AppLevel != ul.Unknown {
		r, why := s.app(now)
		level, end := s.AppLevel.String(), shownEnd(r.Until)
		l.log.Info("application log level raised", "level", level, "why", why, "by", r.By, "until", end)
		l.journal.note(mark.New(mark.AppLevelRaised, "level", level, "why", why, "by", r.By, "until", end))
		return
	}
	why := "its time is over"
	was, _ := before.app(now)
	switch {
	case l.fleet.draining:
		why = whyDrained
	case was != nil && was == before.App && s.App == nil:
		why = "the annotation is gone"
	case was != nil:
		why = whyReset
	}
	l.log.Info("application log level restored", "level", before.AppLevel.String(), "why", why)
	l.journal.note(mark.New(mark.AppLevelRestored, "level", before.AppLevel.String(), "why", why))
}
