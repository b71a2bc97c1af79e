package ship

import (
	"context"
	"time"
)

// CatchUp waits until every complete line that is in the source now has been read and passed to
// the outlets. It does not wait for commits. CatchUp returns early when ctx ends: the queue may be
// full, or the source may be missing. It is safe for concurrent use.
func (s *Shipper) CatchUp(ctx context.Context) {
	done := make(chan struct{})
	select {
	case s.link.catchUp <- done:
	case <-ctx.Done():
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// catching is how far the reader has caught up with the JVMs.
type catching struct {
	up    time.Time         // when the reader had last caught up; at first, a time long ago
	asked []chan<- struct{} // closed once the next scan and everything that it finds has been read
}

// with records that everything that is known to be in the source has been read. While a scan is due,
// the source may have had unknown lines at the time of a request, so requests are not answered yet.
func (c *catching) with(now time.Time, scanDue bool) {
	c.up = now
	if scanDue {
		return
	}
	for _, done := range c.asked {
		close(done)
	}
	c.asked = nil
}
