package levels

import (
	"time"

	"github.com/ullage/ullage/internal/mark"
	"github.com/ullage/ullage/internal/podmeta"
	"github.com/ullage/ullage/internal/ul"
)

// appRaise is a level that the application's events are raised to for a while. It never changes.
type appRaise struct {
	Level ul.Level      `json:"level"`
	For   time.Duration `json:"for"` // the requested duration
	Until time.Time     `json:"until"`
}

// on reports whether the raise is in effect. There may be none.
func (r *appRaise) on(now time.Time) bool { return r != nil && now.Before(r.Until) }

// sound reports whether a saved raise is one that can be asked for.
func (r *appRaise) sound() bool {
	return r.Level != ul.Unknown && r.For >= podmeta.MinFor && r.For <= podmeta.MaxRaise
}

const whyAppLog = "annotation " + podmeta.Prefix + "app-log"

// wantApp turns the annotations of the application's events into a raise. A raise that is over stays as long as
// its annotation does, so that it does not begin again. A clock that was set back prolongs no raise.
func (s *state) wantApp(notes *annotations, draining bool, now time.Time) {
	req := notes.request
	now = now.Round(0) // without the monotonic clock, as a saved state has none
	switch {
	case req.AppLogBad || notes.unknown: // nothing changes
	case req.AppLog == ul.Unknown:
		s.App = nil
	case s.App == nil || s.App.Level != req.AppLog || s.App.For != req.AppLogFor:
		s.App = &appRaise{req.AppLog, req.AppLogFor, now.Add(req.AppLogFor)}
	}
	if r := s.App; r != nil && r.Until.After(now.Add(r.For)) {
		s.App = &appRaise{r.Level, r.For, now.Add(r.For)}
	}
	s.AppLevel = ul.Unknown
	if s.App.on(now) && !draining {
		s.AppLevel = s.App.Level
	}
}

// raiseApp passes on what wantApp has found, and logs and marks a change since before.
func (l *Loop) raiseApp(before *state) {
	s := l.fleet.state
	if l.cfg.OnAppLevel == nil {
		return
	}
	l.cfg.OnAppLevel(s.AppLevel)
	if s.AppLevel == before.AppLevel {
		return
	}
	if s.AppLevel != ul.Unknown {
		l.log.Info("application log level raised", "level", s.AppLevel.String(), "why", whyAppLog, "until", shownEnd(s.App.Until))
		l.journal.note(mark.New(mark.AppLevelRaised, "level", s.AppLevel.String(), "why", whyAppLog, "until", shownEnd(s.App.Until)))
		return
	}
	why := "its time is over"
	switch {
	case l.fleet.draining:
		why = whyDrained
	case s.App == nil:
		why = "the annotation is gone"
	}
	l.log.Info("application log level restored", "level", before.AppLevel.String(), "why", why)
	l.journal.note(mark.New(mark.AppLevelRestored, "level", before.AppLevel.String(), "why", why))
}
