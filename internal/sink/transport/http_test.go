package transport

import (
	"encoding/pem"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/sink/address"
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
		client := &http.Client{Transport: HTTP(Trust{})}
		resp, err := client.Get(s.URL)
		if err == nil {
			resp.Body.Close()
		}
		if (err != nil) != c.fails {
			t.Errorf("a header of %d bytes: error %v, want an error: %v", c.bytes, err, c.fails)
		}
		client.CloseIdleConnections()
		s.Close()
	}
}

// A Secret is created after the sidecar has started. Requests fail until then.
func TestAFileThatDoesNotExistYet(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	path := filepath.Join(t.TempDir(), "ca.crt")
	trust, err := TrustOf(address.Files{CA: path})
	if err != nil {
		t.Fatalf("the file is missing: error %v, want none before a connection", err)
	}
	client := &http.Client{Transport: HTTP(trust)}
	defer client.CloseIdleConnections()
	if _, err := client.Get(s.URL); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("the file is missing: error %v, want one that names the missing file %s", err, path)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	resp, err := client.Get(s.URL)
	if err != nil {
		t.Fatalf("the file exists: error %v, want none", err)
	}
	resp.Body.Close()
	if err := os.WriteFile(path, []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := TrustOf(address.Files{CA: path}); err == nil || !strings.Contains(err.Error(), "holds no certificate") {
		t.Errorf(`the file is rubbish: error %v, want one with "holds no certificate"`, err)
	}
}
