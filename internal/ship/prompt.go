package ship

import (
	"sync/atomic"
	"time"
)

const (
	// promptInterval is how long lines wait for a commit after a [Shipper.Prompt].
	promptInterval = 20 * time.Millisecond

	// promptTime is how long lines are committed at this interval after a Prompt. The line for which a person is
	// waiting may not have been written yet, and while lines flow, the reader checks a file only now and then.
	promptTime = time.Second
)

// prompt is a request for commits that do not wait for the sync interval.
type prompt struct {
	asked chan struct{}             // capacity 1: there is a new request
	last  atomic.Pointer[time.Time] // when the last request was made; nil: never
}

// Prompt asks for the next lines to be committed soon instead of after the sync interval,
// because a person waits for them. It is safe for concurrent use.
func (s *Shipper) Prompt() {
	p, now := &s.link.prompt, time.Now()
	p.last.Store(&now)
	select {
	case p.asked <- struct{}{}:
	default: // the writer has yet to see an earlier request
	}
}

// interval returns how long a line may wait for its commit if the setting is syncInterval.
func (p *prompt) interval(syncInterval time.Duration, now time.Time) time.Duration {
	if last := p.last.Load(); last != nil && now.Sub(*last) < promptTime {
		return min(promptInterval, syncInterval)
	}
	return syncInterval
}
