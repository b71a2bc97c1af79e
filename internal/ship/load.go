package ship

import "time"

// calmAfter is how long the source must not have been busy before it is reported as calm.
const calmAfter = 2 * time.Second

// load tracks the JVMs' activity in the source. It reports when the source becomes busy or calm,
// see [Outlets].
type load struct {
	tell func(busy bool) // may be nil
	busy bool            // as last reported
	last time.Time       // when the source was last busy

	rotated time.Time // when a new file was last seen
	looked  time.Time // when the source was last looked at without an event
	flow    flow      // how much is written
}

// see records whether the source is busy now. It must be called about once a second even if
// nothing happens; the reader's poll does that.
func (l *load) see(busy bool, now time.Time) {
	if busy {
		l.last = now
	}
	if l.tell == nil || busy == l.busy || !busy && now.Sub(l.last) < calmAfter {
		return
	}
	l.busy = busy
	l.tell(busy)
}
