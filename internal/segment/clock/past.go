package clock

import "time"

// The rest of a stream is assumed to be later than the end of a window once PastLines consecutive
// records are later by more than PastSlack. The threads of a JVM do not log in the exact order of
// the times that they record, and a single line proves nothing, because the application can write
// anything.
const (
	PastLines = 64
	PastSlack = 10 * time.Second
)

// Past notices when the rest of a stream is later than the end of a window. The zero value has
// seen no record.
type Past struct{ lines int }

// See receives the time of the next record. If the end is zero, nothing is later.
func (p *Past) See(when, end time.Time) {
	if !end.IsZero() && when.After(end.Add(PastSlack)) {
		p.lines++
	} else {
		p.lines = 0
	}
}

// Over reports whether the rest is later.
func (p *Past) Over() bool { return p.lines >= PastLines }
