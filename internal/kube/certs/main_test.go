package certs

import (
	"io"
	"log"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ullage/ullage/test/lab"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = lab.Patience

// clock is a clock that a test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// newQuietLog returns the log for servers of net/http whose messages do not matter.
func newQuietLog() *log.Logger { return log.New(io.Discard, "", 0) }
