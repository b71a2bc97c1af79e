package retry

import "time"

// limited is the shortest time between two equal log lines.
const limited = time.Minute

// Limiter allows a log line at most once a minute, so that a frequent cause does not fill the
// log. The zero value allows the first line.
type Limiter struct {
	next    time.Time // no line is allowed before
	skipped int       // lines that were not allowed since the last allowed line
}

// Allow reports whether the line may be logged now.
func (l *Limiter) Allow(now time.Time) bool {
	_, ok := l.Take(now)
	return ok
}

// Take is like Allow, but also returns how many times the line was not allowed since it was
// last allowed.
func (l *Limiter) Take(now time.Time) (skipped int, ok bool) {
	if now.Before(l.next) {
		l.skipped++
		return 0, false
	}
	skipped = l.skipped
	*l = Limiter{next: now.Add(limited)}
	return skipped, true
}
