package sidecar

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/insight"
	"github.com/ullage/ullage/internal/jvm/trigger"
	"github.com/ullage/ullage/internal/line/ul"
)

// observe shows each line that is read to those whom it can matter to: to the returned
// Insight, which is nil if the lines are not read for metrics, and to the triggers. Each line
// is parsed once at most.
func (c *Config) observe(triggers *trigger.Set, reg prometheus.Registerer, log *slog.Logger) *insight.Insight {
	raises := c.Levels.Annotations != "" && c.Levels.Attach.Mode != attach.Off
	if !c.Insight.On {
		if raises || triggers.Saves() {
			c.Ship.Tail.OnLine = func(_ string, line []byte, class ul.Class) { triggers.Line(line, class, nil) }
			c.Ship.OnCaughtUp = triggers.CaughtUp
		}
		return nil
	}
	c.Insight.Floor = c.StallFloor
	in := insight.New(c.Insight, triggers, reg, log)
	c.Ship.Tail.OnLine = func(stream string, line []byte, class ul.Class) {
		triggers.Line(line, class, in.Line(stream, line, class))
	}
	c.Ship.OnCaughtUp = func() { in.CaughtUp(); triggers.CaughtUp() }
	return in
}
