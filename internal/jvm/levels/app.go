package levels

import (
	"time"

	"github.com/ullage/ullage/internal/jvm/plan"
	"github.com/ullage/ullage/internal/line/mark"
)

// raiseApp passes on the levels that [plan.State.WantApp] has set, and logs and marks a change.
func (l *Loop) raiseApp(before *plan.State, now time.Time) {
	s := l.plan.State
	if l.to.AppLevels == nil {
		return
	}
	l.to.AppLevels(s.AppLevels)
	if s.AppLevels == before.AppLevels {
		return
	}
	if !s.AppLevels.IsZero() {
		r, why := s.AppNow(now)
		level, end := s.AppLevels.String(), plan.ShownEnd(r.Until)
		// messages.md#log-levels: The annotation `ullage.dev/app-log` raises the application's
		// events to `level`, or loggers to the levels that it names, until `until`.
		l.log.Info("application log level raised", "level", level, "why", why, "by", r.By, "until", end)
		l.reporter.note(mark.New(mark.AppLevelRaised, "level", level, "why", why, "by", r.By, "until", end))
		return
	}
	why := "its time is over"
	was, _ := before.AppNow(now)
	switch {
	case l.plan.Draining:
		why = plan.WhyDrained
	case was != nil && was == before.App && s.App == nil:
		why = "the annotation is gone"
	case was != nil:
		why = plan.WhyReset
	}
	// messages.md#log-levels: The raise has ended; `why` is the reason.
	l.log.Info("application log level restored", "level", before.AppLevels.String(), "why", why)
	l.reporter.note(mark.New(mark.AppLevelRestored, "level", before.AppLevels.String(), "why", why))
}
