package tail

import (
	"log/slog"
	"time"
)

// notes is the log of a Source, and what it need not say again.
type notes struct {
	*slog.Logger
	warned    map[string]bool
	truncated time.Time // when a truncation was last logged
	crashed   time.Time // ... and a crash
	cut       time.Time // ... and lines that a JVM had lost
	format    time.Time // ... and the format of a stream
}

// once logs a warning the first time that its key is seen. The keys are
// constants of this package, so the set is bounded.
func (n *notes) once(key, msg string, args ...any) {
	if !n.warned[key] {
		n.warned[key] = true
		n.Logger.Warn(msg, args...)
	}
}

// notTooOften reports whether something that was last logged at a time may be logged now.
func (n *notes) notTooOften(last *time.Time, now time.Time) bool {
	if now.Sub(*last) <= time.Minute {
		return false
	}
	*last = now
	return true
}
