package tail

import (
	"log/slog"

	"github.com/ullage/ullage/internal/base/retry"
)

// notes is the log of a Source; it remembers what was logged already.
type notes struct {
	*slog.Logger
	warned map[string]bool

	truncated retry.Limiter // a file was truncated
	crashed   retry.Limiter // a JVM has crashed
	cut       retry.Limiter // a JVM lost lines
	format    retry.Limiter // a stream has a format
}

// once logs a warning the first time that its key is seen. The keys are
// constants of this package, so the set is bounded.
func (n *notes) once(key, msg string, args ...any) {
	if !n.warned[key] {
		n.warned[key] = true
		n.Logger.Warn(msg, args...)
	}
}
