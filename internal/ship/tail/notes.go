package tail

import (
	"log/slog"

	"github.com/ullage/ullage/internal/base/retry"
)

// notes is the log of a Source; it remembers what has already been logged.
type notes struct {
	*slog.Logger
	warned map[string]bool

	truncated retry.Limiter // for truncated files
	crashed   retry.Limiter // for crashes of JVMs
	cut       retry.Limiter // for lines that a JVM lost
	format    retry.Limiter // for the formats of streams
}

// once logs a warning the first time that it is called with the key. The keys are constants
// of this package, so the set is bounded.
func (n *notes) once(key, msg string, args ...any) {
	if !n.warned[key] {
		n.warned[key] = true
		n.Logger.Warn(msg, args...)
	}
}
