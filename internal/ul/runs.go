package ul

import "time"

// Uptimes in a log step back a little, because a thread takes the time before it
// writes. Another JVM runs where they fall back to less than half by more than
// restartFall, or by more than restartSure.
const (
	restartFall = 100 * time.Millisecond
	restartSure = 2 * time.Second
)

// Runs tells the runs of JVMs in one stream apart by the uptimes of its records, which
// it must receive in order. A run begins where the uptime falls back. A JVM that is
// restarted before its log has reached an uptime of about a tenth of a second cannot be
// distinguished from the next one. The zero value is ready for a stream's first record.
// Runs is not safe for concurrent use.
type Runs struct {
	number  int
	highest time.Duration
}

// Next receives the uptime of the next record that has one, and reports whether the
// record is the first of a run.
func (r *Runs) Next(up time.Duration) (begins bool) {
	begins = r.number == 0 || Restarted(r.highest, up)
	if begins {
		r.number++
		r.highest = up
	}
	r.highest = max(r.highest, up)
	return begins
}

// Restarted reports whether the uptime now is that of a later JVM than the highest one
// before.
func Restarted(before, now time.Duration) bool {
	fall := before - now
	return fall > restartSure || fall > restartFall && now < before/2
}

// Number returns the number of the present run, from 1 up; 0: no record had an uptime
// yet.
func (r *Runs) Number() int { return r.number }
