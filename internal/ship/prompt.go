package ship

import (
	"sync/atomic"
	"time"
)

const (
	// promptInterval is how long lines wait for a commit after a [Shipper.Prompt].
	promptInterval = 20 * time.Millisecond

	// promptCommits is the number of commits that follow so soon. The first of them may lack the
	// lines that a person waits for: while lines flow, the reader checks a file only now and then.
	promptCommits = 4
)

// prompt is a request for commits that do not wait for the sync interval.
type prompt struct {
	asked chan struct{} // capacity 1: there is a new request
	left  atomic.Int32  // number of commits that should still come soon
}

// Prompt asks for the next lines to be committed soon instead of after the sync interval,
// because a person waits for them. It is safe for concurrent use.
func (s *Shipper) Prompt() {
	p := &s.link.prompt
	p.left.Store(promptCommits)
	select {
	case p.asked <- struct{}{}:
	default: // the writer has yet to see an earlier request
	}
}

// interval returns how long a line may wait for its commit if the setting is syncInterval.
func (p *prompt) interval(syncInterval time.Duration) time.Duration {
	if p.left.Load() > 0 {
		return min(promptInterval, syncInterval)
	}
	return syncInterval
}

// committed records a commit.
func (p *prompt) committed() {
	if left := p.left.Load(); left > 0 {
		p.left.CompareAndSwap(left, left-1) // a new request keeps all of its commits
	}
}
