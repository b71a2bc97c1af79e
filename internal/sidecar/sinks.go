package sidecar

import (
	"context"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"log/slog"

	"github.com/ullage/ullage/internal/sink"
)

// sinks makes the sinks, and lets the shipper tell them what is durable.
func (c *Config) sinks(reg prometheus.Registerer, log *slog.Logger) (*sink.Set, error) {
	if c.Sinks.Pod.Name == "" {
		c.Sinks.Pod.Name, _ = os.Hostname() // that of the pod, in one
	}
	set, err := sink.New(c.Sinks, c.SinkKinds, c.Ship.Dest, reg, log)
	if err != nil || len(c.Sinks.URLs) == 0 {
		return set, err
	}
	follow := &c.Ship.Followers
	follow.OnCommit, follow.Needed, follow.Deleted = set.Committed, set.Needs, set.Deleted
	if age, whole := c.Sinks.SealAfter(c.SinkKinds); whole {
		follow.SealAtEnd = true
		if own := c.Ship.Segment.SegmentAge; age > 0 && (own == 0 || age < own) {
			c.Ship.Segment.SegmentAge = age
		}
	}
	return set, nil
}

// drainSinks ends once the sinks have everything, or the drain timeout is over, which
// began when ctx ended.
func (c *Config) drainSinks(ctx context.Context, feed func(ctx, stop context.Context) error, shipped <-chan struct{}) error {
	stop, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	ended := context.AfterFunc(ctx, func() { time.AfterFunc(c.Ship.DrainTimeout, cut) })
	defer ended()
	until, done := context.WithCancel(context.WithoutCancel(ctx))
	go func() { <-shipped; done() }()
	return feed(until, stop)
}
