package plan

import (
	"errors"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/line/loggers"
)

// AppRaise raises the levels of the application's events for a while. It is immutable.
type AppRaise struct {
	Levels loggers.Levels `json:"level"`
	For    time.Duration  `json:"for"` // the requested duration
	Until  time.Time      `json:"until"`
	By     string         `json:"by,omitempty"` // the process that asked for it; empty: an annotation asked, or the process is unknown
	ID     string         `json:"id,omitempty"` // the annotation app-log-id
}

// on reports whether the raise is in effect. r may be nil.
func (r *AppRaise) on(now time.Time) bool { return r != nil && now.Before(r.Until) }

// sound returns the usable form of a saved raise, or nil if no request can have made it.
func (r *AppRaise) sound() *AppRaise {
	if r == nil || r.Levels.IsZero() || ask.CheckFor(r.For) != nil {
		return nil
	}
	return &AppRaise{r.Levels, r.For, savable(r.Until), printable.Escaped(r.By, maxWhy), printable.Escaped(r.ID, ask.MaxID)}
}

// bounded returns r or, if a clock was set back, a shorter raise, so that no raise is prolonged.
func (r *AppRaise) bounded(now time.Time) *AppRaise {
	if r == nil || !r.Until.After(now.Add(r.For)) {
		return r
	}
	return &AppRaise{r.Levels, r.For, now.Add(r.For), r.By, r.ID}
}

const (
	whyAppLog = "annotation " + ask.Prefix + "app-log"

	// WhySet is the reason for a raise that a command begins, WhyReset for whatever a command
	// ends.
	WhySet   = "ullage levels set"
	WhyReset = "ullage levels reset"
)

// checkApps removes saved raises of the application that cannot have been asked for.
func (s *State) checkApps() (err error) {
	for _, r := range []**AppRaise{&s.App, &s.AppSet} {
		if saved := *r; saved != nil {
			if *r = saved.sound(); *r == nil {
				err = errors.New("a saved raise of the application is damaged")
			}
		}
	}
	return err
}

// AppNow returns the application's current raise and its reason. The raise of a command takes
// precedence over that of an annotation. If no raise is in effect, r is nil.
func (s *State) AppNow(now time.Time) (r *AppRaise, why string) {
	switch {
	case s.AppSet.on(now):
		return s.AppSet, WhySet
	case s.App.on(now):
		return s.App, whyAppLog
	}
	return nil, ""
}

// SetApp begins a command's raise and returns the time at which it ends. by is the process that sent the command.
func (s *State) SetApp(to loggers.Levels, lasts time.Duration, by string, now time.Time) (until time.Time) {
	now = now.Round(0) // without the monotonic clock reading, which is not saved
	s.AppSet = &AppRaise{to, lasts, now.Add(lasts), by, ""}
	return s.AppSet.Until
}

// endApps ends the raises of the application early. It keeps the raise of an annotation as a raise
// that has ended.
func (s *State) endApps(now time.Time) {
	if s.AppSet = nil; s.App.on(now) {
		s.App = &AppRaise{s.App.Levels, s.App.For, now.Round(0), s.App.By, s.App.ID}
	}
}

// WantApp turns the annotations for the application's events into a raise. A raise that is over is kept as long
// as its annotation exists, so that it does not begin again. known says whether the annotations have been read.
func (s *State) WantApp(req ask.Request, known, draining bool, now time.Time) {
	now = now.Round(0)
	switch {
	case req.AppLogBad || !known: // nothing changes
	case req.AppLog.IsZero():
		s.App = nil
	case s.App == nil || s.App.Levels != req.AppLog || s.App.For != req.AppLogFor || s.App.ID != req.AppLogID:
		s.App = &AppRaise{req.AppLog, req.AppLogFor, now.Add(req.AppLogFor), "", req.AppLogID}
	}
	s.App, s.AppSet = s.App.bounded(now), s.AppSet.bounded(now)
	if !s.AppSet.on(now) || draining {
		s.AppSet = nil
	}
	s.AppLevels = loggers.Levels{}
	if r, _ := s.AppNow(now); r != nil && !draining {
		s.AppLevels = r.Levels
	}
}
