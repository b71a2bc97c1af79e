package ul

import "time"

// Uptimes in a log may go back a little, because a thread may have to wait for a processor
// between reading the clock and writing.
const (
	restartFall = 100 * time.Millisecond
	restartSure = time.Minute
)

// Restarted reports whether a record with the uptime up is from a different JVM than the
// earlier records of its stream, whose highest uptime is highest. To be from a different JVM,
// its uptime must have fallen by more than a tenth of a second and to less than half, or by
// more than a minute.
func Restarted(highest, up time.Duration) bool {
	fall := highest - up
	return fall > restartFall && (up < fall || fall > restartSure)
}

// Runs separates the runs of JVMs in one stream by the uptimes of its records, which it
// must receive in order. A run begins where the uptime falls back. A JVM whose log ends
// before an uptime of about a tenth of a second can't be distinguished from the next JVM.
// The zero value is ready for a stream's first record. Runs is not safe for concurrent
// use.
type Runs struct {
	number  int
	highest time.Duration
}

// Next takes the uptime of the next record that has one, and reports whether the record is the
// first of a run.
func (r *Runs) Next(up time.Duration) (begins bool) {
	begins = r.number == 0 || Restarted(r.highest, up)
	if begins {
		r.number++
		r.highest = up
	}
	r.highest = max(r.highest, up)
	return begins
}

// Number returns the number of the current run, starting at 1, or 0 if no record has had an
// uptime yet.
func (r *Runs) Number() int { return r.number }
