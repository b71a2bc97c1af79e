package trigger

import "sync/atomic"

// unread tracks whether the reader has received all lines that were written before a certain
// moment.
type unread struct {
	waiting atomic.Bool // set to ask the reader; the reader clears it

	// Only the Loop of package levels uses the following fields, through the methods below.
	read  bool // everything written before that moment has been read
	asked bool // the reader has been asked
}

// CaughtUp reports to the Set that every line written so far has been read.
func (s *Set) CaughtUp() {
	if s.unread.waiting.Load() {
		s.unread.waiting.Store(false)
	}
}

// Unread records that lines are being written which must be read before the trigger is armed.
func (s *Set) Unread() { s.unread.read, s.unread.asked = false, false }

// Waiting reports whether the Set is waiting for the next CaughtUp. It is safe for concurrent use.
func (s *Set) Waiting() bool { return s.unread.waiting.Load() }

// HaveRead reports whether Read has returned true since Unread.
func (s *Set) HaveRead() bool { return s.unread.read }

// Read reports whether everything written before its first call since Unread has been read.
func (s *Set) Read() bool {
	u := &s.unread
	if !u.read {
		if !u.asked {
			u.asked = true
			u.waiting.Store(true)
		}
		u.read = !u.waiting.Load()
	}
	return u.read
}
