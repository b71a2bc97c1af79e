package webhook

import (
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/kube/names"
)

// quietInterval is the shortest time between two lines that strangers cause.
const quietInterval = time.Minute

// quiet logs what anybody who reaches the port can cause. It writes at most one
// line a minute, so that no stranger can fill the log. The attribute not_logged
// counts the lines that were left out since the last one.
type quiet struct {
	log *slog.Logger

	mu     sync.Mutex
	next   time.Time // the earliest time of the next line
	silent int       // lines left out since the last one
}

func newQuiet(log *slog.Logger) *quiet { return &quiet{log: log} }

func (q *quiet) warn(msg string, args ...any) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	if now.Before(q.next) {
		q.silent++
		return
	}
	q.log.Warn(msg, append(args, "not_logged", q.silent)...)
	q.next, q.silent = now.Add(quietInterval), 0
}

// Write takes a line of the HTTP server's error log. Most are failed TLS
// handshakes: a port scan, or an API server that does not trust our CA.
func (q *quiet) Write(line []byte) (int, error) {
	q.warn("connection failed", "error", printable.Text(strings.TrimSpace(string(line)), names.MaxText))
	return len(line), nil
}
