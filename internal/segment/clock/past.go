package clock

import "time"

// The rest of a stream is later than an end where PastLines records in a row are later by
// more than PastSlack. Threads of a JVM log in a slightly different order than they take
// the time, and a single line proves nothing: the application can write anything.
const (
	PastLines = 64
	PastSlack = 10 * time.Second
)

// Past notices where all that follows in a stream is later than an end. The zero value has
// seen nothing.
type Past struct{ lines int }

// See receives the time of the next record. If the end is zero, nothing is later.
func (p *Past) See(when, end time.Time) {
	if !end.IsZero() && when.After(end.Add(PastSlack)) {
		p.lines++
	} else {
		p.lines = 0
	}
}

// Over reports whether all that follows is later.
func (p *Past) Over() bool { return p.lines >= PastLines }
