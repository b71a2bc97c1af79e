package ship

import (
	"slices"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/line/mark"
)

// Show adds the state of the Shipper to a status. The state may be about a second old. Show may
// be called from any goroutine.
func (s *Shipper) Show(st *admin.Status) {
	s.view.show(st)
	s.link.health.show(st)
	st.Streams = slices.DeleteFunc(st.Streams, func(one admin.Stream) bool { return one.Name == mark.Stream && one.Refused == "" })
	st.QueueUsedBytes, st.QueueCapacityBytes = int64(s.link.queue.Bytes()), int64(s.link.queue.Capacity())
	st.LagSeconds = s.link.lag(time.Now()).Seconds()
	if s.detail.held != nil {
		if held := s.detail.held.Stats(); held.Bytes > 0 || !held.Until.IsZero() {
			st.Hindsight = &admin.Hindsight{Bytes: held.Bytes, Since: held.Oldest, Until: held.Until}
		}
	}
	s.src.Show(st)
	s.metrics.show(st)
	if durable := s.store.Load(); durable != nil {
		durable.Show(st)
	}
}
