// Package fakebucket serves a bucket of S3 from memory, for tests of its readers. The tests of package sinks use real
// servers.
package fakebucket

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// New serves the objects of a bucket, by key, until the test ends, and sets the credentials for it. It returns the URL
// of the prefix prod.
func New(t testing.TB, objects map[string]string) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("list-type") {
			w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
			_, _ = io.WriteString(w, objects[strings.TrimPrefix(r.URL.Path, "/logs/")])
			return
		}
		_, _ = io.WriteString(w, "<ListBucketResult>")
		for _, key := range slices.Sorted(maps.Keys(objects)) {
			if strings.HasPrefix(key, r.URL.Query().Get("prefix")) {
				fmt.Fprintf(w, "<Contents><Key>%s</Key><Size>%d</Size><LastModified>2026-11-28T15:00:00.000Z</LastModified></Contents>", key, len(objects[key]))
			}
		}
		_, _ = io.WriteString(w, "</ListBucketResult>")
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	return "s3://logs/prod?region=x&path-style=true&endpoint=" + s.URL
}
