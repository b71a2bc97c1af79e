package sidecar

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/insight"
	"github.com/ullage/ullage/internal/jvm/levels"
	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
)

// observe shows each line that is read to those whom it can matter to: to the returned
// Insight, which is nil if the lines are not read for metrics, to the triggers, and to the
// lookout if that is not nil. Each line is parsed once, or, without an Insight, by each of
// those that need its event.
func (c *Config) observe(l *levels.Loop, lookout *levels.Lookout, reg prometheus.Registerer, log *slog.Logger) *insight.Insight {
	watch := l.Watch()
	var see func(line []byte, class ul.Class, e *pause.Event)
	if c.Levels.Annotations != "" && c.Levels.Attach.Mode != attach.Off {
		see, c.Ship.OnCaughtUp = watch.Line, watch.CaughtUp
	}
	if triggers := see; lookout != nil {
		see = lookout.Line
		if triggers != nil {
			see = func(line []byte, class ul.Class, e *pause.Event) {
				triggers(line, class, e)
				lookout.Line(line, class, e)
			}
		}
	}
	if !c.Insight.On {
		if see != nil {
			c.Ship.Tail.OnLine = func(_ string, line []byte, class ul.Class) { see(line, class, nil) }
		}
		return nil
	}
	c.Insight.Floor, c.Insight.Threshold = c.StallFloor, watch.PauseThreshold
	c.Insight.OnStop = onStop(watch, lookout)
	in := insight.New(c.Insight, reg, log)
	caughtUp := c.Ship.OnCaughtUp
	c.Ship.Tail.OnLine = func(stream string, line []byte, class ul.Class) { see(line, class, in.Line(stream, line, class)) }
	c.Ship.OnCaughtUp = func() { in.CaughtUp(); caughtUp() }
	if see == nil {
		c.Ship.Tail.OnLine = func(stream string, line []byte, class ul.Class) { in.Line(stream, line, class) }
	}
	if caughtUp == nil {
		c.Ship.OnCaughtUp = in.CaughtUp
	}
	return in
}

// onStop returns what shows a stop to the triggers and, if that is not nil, to the lookout.
func onStop(watch *levels.Watch, lookout *levels.Lookout) func(*pause.Stop) {
	if lookout == nil {
		return watch.Stop
	}
	return func(stop *pause.Stop) {
		watch.Stop(stop)
		lookout.Stop(stop)
	}
}
