package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/address"
	"github.com/ullage/ullage/test/lab"
)

func served(t *testing.T, h http.HandlerFunc, more string) sink.Sink {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return opened(t, "s3://logs/prod?region=us-east-1&path-style=true&credentials=env&endpoint="+s.URL+more)
}

func opened(t *testing.T, text string) sink.Sink {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	u, _ := url.Parse(text)
	o := address.NewOptions(u.Query())
	u.RawQuery = ""
	k, err := Kind().Open(sink.Target{Name: "s3", URL: u, Options: o})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func segmentOf(t *testing.T, size int64) *sink.Batch {
	t.Helper()
	name := "20261122T100000.000Z-000001.log"
	path := filepath.Join(t.TempDir(), name)
	line := []byte("[1s][info][gc] " + strings.Repeat("x", 1008) + "\n")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := int64(0); n < size; n += int64(len(line)) {
		_, _ = f.Write(line)
	}
	f.Close()
	info, _ := segment.ParseName(name)
	info.Path, info.Size = path, size
	return &sink.Batch{Stream: "gc.log", Segment: info, Bytes: size}
}

// A full segment is a little larger than the default --segment-bytes.
func TestMemoryOfAFullSegment(t *testing.T) {
	s := served(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch {
		case r.Method == http.MethodGet:
			w.WriteHeader(http.StatusNotFound)
		case r.URL.Query().Has("uploads"):
			fmt.Fprint(w, `<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>`)
		case r.Method == http.MethodPost:
			fmt.Fprint(w, `<CompleteMultipartUploadResult><Bucket>logs</Bucket><Key>k</Key><ETag>"x"</ETag></CompleteMultipartUploadResult>`)
		default:
			w.Header().Set("ETag", `"x"`)
		}
	}, "")
	b := segmentOf(t, 65<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := s.Deliver(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got := int64(after.HeapSys) - int64(before.HeapSys); got > 16<<20 {
		t.Errorf("the heap grew by %d MiB, want at most 16 MiB", got>>20)
	}
}

// A server that sends a header, a part of a body, and then nothing more does not block a sink
// permanently.
func TestAnAnswerWithoutEnd(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter, gone <-chan struct{}){
		"stalls": func(w http.ResponseWriter, gone <-chan struct{}) { <-gone },
		"drips": func(w http.ResponseWriter, gone <-chan struct{}) {
			for {
				select {
				case <-gone:
					return
				case <-time.After(200 * time.Millisecond):
					_, _ = io.WriteString(w, " ")
					w.(http.Flusher).Flush()
				}
			}
		},
	} {
		gone := make(chan struct{})
		s := served(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("ETag", `"x"`)
			w.Header().Set("Content-Length", "1000000000")
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			answer(w, gone)
		}, "")
		s.(*uploader).bucket.pauses.patience = 100 * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
		if _ = s.Deliver(ctx, segmentOf(t, 4096)); ctx.Err() != nil {
			t.Errorf("%s: Deliver returned only when its context ended, want it to return earlier", name)
		}
		cancel()
		close(gone)
	}
}

// A day of many small segments makes many indexes, not a single one that grows without a bound.
func TestMemoryOfAnIndex(t *testing.T) {
	var sent int64
	s := served(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		sent += n
		w.Header().Set("ETag", `"x"`)
	}, "").(*uploader)
	e := Entry{Stream: "gc.log", Size: 1 << 20, Raw: 9 << 20, Lines: map[string]uint64{"info": 10000, "debug": 1}, First: time.Now().UTC(), Last: time.Now().UTC()}
	const n = 700
	for i := range n {
		e.Key = fmt.Sprintf("prod/log/namespace=shop/pod=web-0123456789-abcde/stream=gc.log/date=2026-11-22/20261122T%06d.000Z-%06d.log.zst", i, i)
		if err := s.days.add(t.Context(), "2026-11-22", e); err != nil {
			t.Fatal(err)
		}
	}
	if sent > n*indexEntries*300 {
		t.Errorf("%d segments made %d bytes of indexes, want at most %d", n, sent, n*indexEntries*300)
	}
}

// Each of two JVM containers in a pod has a sidecar, and both JVMs are process 1: gc-1.log.
func TestKeysTellContainersApart(t *testing.T) {
	s := opened(t, "s3://logs/prod?region=us-east-1&endpoint=http://localhost").(*uploader)
	info, _ := segment.ParseName("20261122T100000.000Z-000001.log.zst")
	a := s.bucket.key(sink.Pod{Namespace: "shop", Name: "web-0", Container: "app"}, "gc-1.log", info)
	b := s.bucket.key(sink.Pod{Namespace: "shop", Name: "web-0", Container: "worker"}, "gc-1.log", info)
	if a == b {
		t.Errorf("both containers have the key %s, want different keys", a)
	}
}

// An endpoint must not hold a password either: the URL is in the log and in /status.
func TestAPasswordInTheEndpoint(t *testing.T) {
	u, _ := url.Parse("s3://logs/prod")
	o := address.NewOptions(url.Values{"endpoint": {"https://me:hunter2@s3.example"}, "region": {"x"}})
	if _, err := Parse(u, &o); err == nil {
		t.Error("a password in the endpoint is accepted, want an error")
	}
}

// The message of a server is cut to a maximum before it is kept for /status and the exit message.
func TestALongAnswer(t *testing.T) {
	s := served(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, "<Error><Code>AccessDenied</Code><Message>%s</Message></Error>", strings.Repeat("&lt;A", 150_000))
	}, "")
	if err := s.Deliver(t.Context(), segmentOf(t, 4096)); len(err.Error()) > 16<<10 {
		t.Errorf("the error has %d bytes, want at most 16 KiB", len(err.Error()))
	}
}

// A store that refuses the key of a segment refuses it always. The segment is set aside, so that the
// other streams of the sink go on. An answer with the same status may concern the settings of the sink.
func TestAKeyThatTheStoreRefuses(t *testing.T) {
	for code, refused := range map[string]bool{"KeyTooLongError": true, "XMinioInvalidObjectName": true, "InvalidRequest": false} {
		t.Run(code, func(t *testing.T) {
			s := served(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
			}, "")
			var rejected *sink.RejectedError
			if err := s.Deliver(t.Context(), segmentOf(t, 4096)); err == nil || errors.As(err, &rejected) != refused {
				t.Errorf("the error is %v, want an error that is a RejectedError: %t", err, refused)
			}
		})
	}
}

// The answer to the GET of a listing has no end.
func TestAnEndlessListing(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `<ListBucketResult>`)
		one := strings.Repeat("<Contents><Key>k</Key></Contents>", 4096)
		for range 1000 { // far more than a client should read
			if _, err := io.WriteString(w, one); err != nil {
				return
			}
		}
		fmt.Fprint(w, `</ListBucketResult>`)
	}))
	defer srv.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	r, err := OpenBucket("s3://logs/prod?region=x&path-style=true&endpoint=" + srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := 0
	for _, err := range r.Objects(t.Context()) {
		if err != nil {
			t.Log(err)
		}
		n++
	}
	runtime.ReadMemStats(&after)
	if grown := (int64(after.HeapSys) - int64(before.HeapSys)) >> 20; grown > 300 {
		t.Errorf("the heap grew by %d MiB for an endless listing, want at most 300", grown)
	}
}

// If a link replaces a segment or its stream's directory after the segment was listed, the link
// is not followed: no other file of the node is uploaded.
func TestASegmentThatBecomesALink(t *testing.T) {
	for name, swap := range map[string]func(path, outside string) error{
		"the file": func(path, outside string) error { return errors.Join(os.Remove(path), os.Symlink(outside, path)) },
		"the directory": func(path, outside string) error {
			dir := filepath.Dir(path)
			return errors.Join(os.Rename(dir, dir+".away"), os.Symlink(filepath.Dir(outside), dir))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var sent atomic.Int64
			s := served(t, func(w http.ResponseWriter, r *http.Request) {
				n, _ := io.Copy(io.Discard, r.Body)
				sent.Add(n)
				w.Header().Set("ETag", `"x"`)
			}, "")
			b := segmentOf(t, 4096)
			outside := filepath.Join(t.TempDir(), filepath.Base(b.Segment.Path))
			if err := errors.Join(os.WriteFile(outside, []byte("precious"), 0o644), swap(b.Segment.Path, outside)); err != nil {
				t.Fatal(err)
			}
			if err := s.Deliver(t.Context(), b); err == nil || sent.Load() > 0 {
				t.Errorf("error %v, %d bytes were sent; want an error and 0 bytes", err, sent.Load())
			}
		})
	}
}

// A web server that answers every request with 200 is not an object store: S3 answers an upload
// with the ETag of the object.
func TestAnAnswerWithoutAnETag(t *testing.T) {
	tagged := false
	s := served(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if tagged {
			w.Header().Set("ETag", `"x"`)
		}
		fmt.Fprint(w, "welcome")
	}, "")
	if err := s.Deliver(t.Context(), segmentOf(t, 4096)); err == nil || !strings.Contains(err.Error(), "ETag") {
		t.Errorf("got %v, want an error about the ETag", err)
	}
	if tagged = true; s.Deliver(t.Context(), segmentOf(t, 4096)) != nil {
		t.Error("an answer with an ETag is refused, want it accepted")
	}
}
