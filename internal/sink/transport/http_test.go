package transport

import (
	"net/http"
	"net/http/httptest"
	"strings"
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

// A server whose header has no end does not fill the memory of the sidecar.
func TestAHeaderWithoutEnd(t *testing.T) {
	for _, c := range []struct {
		bytes int
		fails bool
	}{{maxHeader / 2, false}, {2 * maxHeader, true}, {8 << 20, true}} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for range c.bytes / 1024 {
				w.Header().Add("X-More", strings.Repeat("x", 1014))
			}
		}))
		inner, err := HTTP(Trust{})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&http.Client{Transport: inner}).Get(s.URL)
		if err == nil {
			resp.Body.Close()
		}
		if (err != nil) != c.fails {
			t.Errorf("a header of %d bytes: error %v, want an error: %v", c.bytes, err, c.fails)
		}
		inner.CloseIdleConnections()
		s.Close()
	}
}
