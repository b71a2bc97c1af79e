package sidecar

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/sink"
)

// sinks makes the sinks, and lets the shipper announce to them what is durable.
func (c *Config) sinks(reg prometheus.Registerer, log *slog.Logger) (*sink.Set, error) {
	if c.Sinks.Pod.Name == "" {
		c.Sinks.Pod.Name, _ = os.Hostname() // that of the pod, in one
	}
	c.Sinks.Formats = c.Ship.Tail.Formats
	set, err := sink.New(c.Sinks, c.SinkKinds, c.Ship.Dest, reg, log)
	if err != nil || len(c.Sinks.URLs) == 0 {
		return set, err
	}
	c.Ship.Segment.Reread = true
	follow := &c.Ship.Followers
	follow.OnCommit, follow.Needed, follow.Deleted = set.Committed, set.Needs, set.Deleted
	if age, whole := c.Sinks.SealAfter(c.SinkKinds); whole {
		follow.SealAtEnd, follow.OnSeal = true, set.Sealed
		if age > 0 {
			c.Ship.Segment.SegmentAge = age
		}
	}
	return set, nil
}

// feed runs the sinks until everything is shipped, and then until they have all of it, or
// the drain timeout is over, which begins when ctx ends.
func (c *Config) feed(ctx context.Context, sinks *sink.Set, shipped context.Context) error {
	stop, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(c.Ship.DrainTimeout, cut) })()
	return sinks.Run(shipped, stop)
}
