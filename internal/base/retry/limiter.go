package retry

import "time"

// limited is the shortest time between two lines of the log that say the same.
const limited = time.Minute

// Limiter allows a line of the log at most once a minute, so that a cause that repeats any
// number of times fills no log. The zero value allows the first one.
type Limiter struct {
	next    time.Time // nothing is allowed before
	skipped int       // times since the last one that was allowed
}

// Allow reports whether the line may be logged now.
func (l *Limiter) Allow(now time.Time) bool {
	_, ok := l.Take(now)
	return ok
}

// Take is Allow, and returns also how many times the line was not allowed since the last one
// that was.
func (l *Limiter) Take(now time.Time) (skipped int, ok bool) {
	if now.Before(l.next) {
		l.skipped++
		return 0, false
	}
	skipped = l.skipped
	*l = Limiter{next: now.Add(limited)}
	return skipped, true
}
