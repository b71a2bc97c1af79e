package webhook

import (
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/retry"
	"github.com/ullage/ullage/internal/kube/names"
)

// quiet logs events that anyone who can reach the port can cause. It writes at most one line a
// minute, so that a stranger can't fill the log. The attribute not_logged counts the lines that
// were left out since the last line.
type quiet struct {
	log *slog.Logger

	mu    sync.Mutex
	limit retry.Limiter
}

func newQuiet(log *slog.Logger) *quiet { return &quiet{log: log} }

func (q *quiet) warn(msg string, args ...any) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if silent, ok := q.limit.Take(time.Now()); ok {
		q.log.Warn(msg, append(args, "not_logged", silent)...)
	}
}

// Write receives a line of the HTTP server's error log. Most are failed TLS handshakes: a port
// scan, or an API server that does not trust our CA.
func (q *quiet) Write(line []byte) (int, error) {
	// messages.md#the-injector: Most often a failed TLS handshake: a port scan, or an API server
	// that does not trust the CA. Logged at most once a minute.
	q.warn("connection failed", "error", printable.Text(strings.TrimSpace(string(line)), names.MaxText))
	return len(line), nil
}
