package transport

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfterIsReadByTheServersClock(t *testing.T) {
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		retry, date string
		want        time.Duration
	}{
		{"", "", 0},
		{"120", "", 2 * time.Minute},
		{"-1", "", 0},
		{"99999999999999", "", 0},
		{"soon", "", 0},
		{"Sun, 22 Nov 2026 10:00:30 GMT", "", 30 * time.Second},
		{"Sun, 22 Nov 2026 09:00:00 GMT", "", 0},
		{"Sun, 22 Nov 2026 11:00:30 GMT", "Sun, 22 Nov 2026 11:00:00 GMT", 30 * time.Second},
		{"Sun, 22 Nov 2026 09:00:30 GMT", "Sun, 22 Nov 2026 09:00:00 GMT", 30 * time.Second},
	} {
		h := http.Header{}
		h.Set("Retry-After", c.retry)
		h.Set("Date", c.date)
		if got := RetryAfter(h, now); got != c.want {
			t.Errorf("Retry-After %q, Date %q: %s, want %s", c.retry, c.date, got, c.want)
		}
	}
}
