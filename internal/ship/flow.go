package ship

import "time"

// steadyBytes is how much must be read in a second for lines to flow steadily: about two hundred
// lines. At that rate, an event for each write would cost the JVMs more than polling costs the
// reader.
const steadyBytes = 16 << 10

// flow is how much the JVMs write to files.
type flow struct {
	last   time.Time // when something was last read
	bytes  int       // read since the last tick
	steady bool      // at least steadyBytes were read between the last two ticks
}

// see counts what a round has read.
func (f *flow) see(read int, now time.Time) {
	if read > 0 {
		f.last = now
		f.bytes += read
	}
}

// quiet reports whether nothing was read for a while.
func (f *flow) quiet(now time.Time) bool { return now.Sub(f.last) >= eventPace }

// tick must be called about once a second.
func (f *flow) tick() {
	f.steady = f.bytes >= steadyBytes
	f.bytes = 0
}
