package sidecar

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/attach"
	"github.com/ullage/ullage/internal/insight"
	"github.com/ullage/ullage/internal/levels"
	"github.com/ullage/ullage/internal/ul"
)

// observe shows each line that is read to those whom it can matter to: to the returned
// Insight, which is nil if the lines are not read for metrics, and to the triggers. Each
// line is parsed once.
func (c *Config) observe(l *levels.Loop, reg prometheus.Registerer, log *slog.Logger) *insight.Insight {
	watch := l.Watch()
	triggers := c.Levels.Annotations != "" && c.Levels.Attach.Mode != attach.Off
	if !c.Insight.On {
		if triggers {
			c.Ship.Tail.OnLine = func(_ string, line []byte, class ul.Class) { watch.Line(line, class, nil) }
			c.Ship.OnCaughtUp = watch.CaughtUp
		}
		return nil
	}
	c.Insight.Threshold = watch.PauseThreshold
	in := insight.New(c.Insight, reg, log)
	c.Ship.Tail.OnLine = func(stream string, line []byte, class ul.Class) {
		watch.Line(line, class, in.Line(stream, line, class))
	}
	c.Ship.OnCaughtUp = func() { in.CaughtUp(); watch.CaughtUp() }
	if !triggers {
		c.Ship.Tail.OnLine = func(stream string, line []byte, class ul.Class) { in.Line(stream, line, class) }
		c.Ship.OnCaughtUp = in.CaughtUp
	}
	return in
}
