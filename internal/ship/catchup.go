package ship

import "context"

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

// answerCatchUps answers the requests to catch up once everything has been read. What is known of
// the source may be older than a request until a scan has followed it.
func (r *reader) answerCatchUps() {
	if r.src.Scanner.Stale() {
		return
	}
	for _, done := range r.catching {
		close(done)
	}
	r.catching = nil
}
