package opensearch

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/sink"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// batchOf makes a batch of lines.
func batchOf(lines ...string) *sink.Batch {
	b := &sink.Batch{Stream: "gc.log", Segment: segment.Info{Name: "s1", Start: noon}}
	var class ul.Classifier
	for _, text := range lines {
		b.Lines = append(b.Lines, sink.Line{Offset: b.Bytes, Text: []byte(text), Time: noon.Add(time.Millisecond), Class: class.Classify([]byte(text))})
		b.Bytes += int64(len(text)) + 1
	}
	return b
}

type document = map[string]any

// server answers bulk requests.
type server struct {
	*httptest.Server
	ids    []string
	docs   []document
	heads  []http.Header
	sizes  []int
	answer func(w http.ResponseWriter, docs []document) // nil: 201 for each
}

func serve(t *testing.T) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil || r.URL.Path != "/prefix/logs-jvm/_bulk" {
			t.Errorf("%s: %v", r.URL, err)
			return
		}
		var docs []document
		for lines := bufio.NewScanner(unpacked); lines.Scan(); {
			var action map[string]struct {
				ID string `json:"_id"`
			}
			var doc document
			err := json.Unmarshal(lines.Bytes(), &action)
			lines.Scan()
			if err := errors.Join(err, json.Unmarshal(lines.Bytes(), &doc)); err != nil {
				t.Errorf("%q: %v", lines.Text(), err)
			}
			s.ids = append(s.ids, action["create"].ID)
			docs = append(docs, doc)
		}
		s.docs, s.heads, s.sizes = append(s.docs, docs...), append(s.heads, r.Header), append(s.sizes, len(docs))
		if s.answer == nil {
			items(w, docs, func(document) (int, string) { return 201, "" })
			return
		}
		s.answer(w, docs)
	}))
	t.Cleanup(s.Close)
	return s
}

// items answers for each document.
func items(w http.ResponseWriter, docs []document, status func(document) (code int, kind string)) {
	var all []any
	failed := false
	for _, d := range docs {
		code, kind := status(d)
		failed = failed || code > 299
		all = append(all, map[string]any{"create": map[string]any{"status": code, "error": map[string]string{"type": kind, "reason": "because"}}})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"errors": failed, "items": all})
}

func opened(to, query string) (sink.Sink, error) {
	u, err := url.Parse(to)
	if err != nil {
		return nil, err
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, err
	}
	return Kind().Open(sink.Target{URL: u, Options: sink.NewOptions(values), Pod: sink.Pod{Namespace: "shop", Name: "web-0", Container: "app"}})
}

func sinkAt(t *testing.T, s *server) sink.Sink {
	t.Helper()
	x, err := opened("opensearch+"+s.URL+"/prefix/logs-jvm", "service=checkout")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func TestDocuments(t *testing.T) {
	s := serve(t)
	gap := ul.Gap{Bytes: 99, First: noon, Last: noon.Add(1500 * time.Millisecond)}
	gap.Lines[ul.Discard][ul.Info], gap.Lines[ul.DropAll][ul.Unknown] = 3, 4
	b := batchOf("\"not\\UL\"\x01\x7f\tµ", "[1.5s][11][22][debug][gc,heap] GC(7) Pause", "and\xff\xfe more\xff",
		strings.TrimSpace(string(gap.AppendMarker(nil))), "[3.0s][warning][] "+fmt.Sprintf("%6d", 12)+" messages dropped due to async logging")
	if err := sinkAt(t, s).Deliver(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	with := func(message string, more document) document {
		d := document{"@timestamp": "2026-11-22T12:00:00.001000000Z", "service.name": "checkout", "orchestrator.namespace": "shop",
			"orchestrator.resource.name": "web-0", "container.name": "app", "log.file.path": "gc.log", "message": message}
		for k, v := range more {
			d[k] = v
		}
		return d
	}
	want := []document{
		with("\"not\\UL\"\x01\x7f\tµ", nil),
		with("GC(7) Pause", document{"log.level": "debug", "ul.tags": []any{"gc", "heap"}, "ul.uptime": 1.5, "ul.gc.id": 7.0, "process.pid": 11.0, "process.thread.id": 22.0}),
		with("and\ufffd more\ufffd", document{"log.level": "debug"}),
		with("gap: 7 lines, 99 bytes dropped in 1.500s: discard info=3; drop unknown=4", document{"log.level": "warning", "ul.tags": []any{"ullage"}, "event.action": "ullage.gap",
			"ullage.gap.lines": 7.0, "ullage.gap.bytes": 99.0, "ullage.gap.seconds": 1.5, "ullage.gap.discard.info": 3.0, "ullage.gap.drop.unknown": 4.0}),
		with("    12 messages dropped due to async logging", document{"log.level": "warning", "ul.uptime": 3.0, "ul.dropped": 12.0}),
	}
	if diff := cmp.Diff(want, s.docs); diff != "" {
		t.Error(diff)
	}
	if want := fmt.Sprintf("shop/web-0/app/gc.log/s1/%d", b.Lines[1].Offset); s.ids[1] != want {
		t.Errorf("the id is %q, want %q", s.ids[1], want)
	}
}

func TestAnIDThatIsTooLongIsHashed(t *testing.T) {
	s := serve(t)
	b := batchOf("one", "two")
	b.Stream = strings.Repeat("x", maxID)
	if err := sinkAt(t, s).Deliver(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if len(s.ids[0]) != 64 || s.ids[0] == s.ids[1] {
		t.Errorf("the ids are %q", s.ids)
	}
}

// The server answers for each document: what it has is not sent again, what it refuses is
// named, and the rest is repeated.
func TestEachDocumentHasItsAnswer(t *testing.T) {
	s := serve(t)
	tries := 0
	s.answer = func(w http.ResponseWriter, docs []document) {
		tries++
		items(w, docs, func(d document) (int, string) {
			switch m := d["message"].(string); {
			case m == "there":
				return 409, "version_conflict_engine_exception"
			case m == "bad":
				return 400, "mapper_parsing_exception"
			case m == "busy" && tries < 3:
				return 429, "rejected_execution_exception"
			case m == "closed" && tries < 2:
				return 400, "index_closed_exception"
			}
			return 201, ""
		})
	}
	x := sinkAt(t, s)
	b := batchOf("new", "busy", "bad", "there", "closed", "bad")
	var busy *sink.BusyError
	for range 2 {
		if err := x.Deliver(t.Context(), b); !errors.As(err, &busy) {
			t.Fatalf("error %v", err)
		}
	}
	var rejected *sink.RejectedError
	if err := x.Deliver(t.Context(), b); !errors.As(err, &rejected) || !slices.Equal(rejected.Lines, []int{2, 5}) || !strings.Contains(err.Error(), "mapper_parsing_exception: because") {
		t.Errorf("error %v", err)
	}
	if !slices.Equal(s.sizes, []int{6, 2, 1}) {
		t.Errorf("requests of %v documents", s.sizes)
	}
	if err := x.Deliver(t.Context(), batchOf("new")); err != nil {
		t.Errorf("the next batch: %v", err)
	}
}

func TestAnswersToTheRequest(t *testing.T) {
	rejected, busy := &sink.RejectedError{}, &sink.BusyError{}
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, docs []document)
		want   string
		holds  func(err error) bool
	}{
		"429": {func(w http.ResponseWriter, _ []document) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		}, "429", func(err error) bool { return errors.As(err, &busy) && busy.After == 7*time.Second }},
		"401":         {func(w http.ResponseWriter, _ []document) { w.WriteHeader(http.StatusUnauthorized) }, "401", func(err error) bool { return !errors.As(err, &rejected) }},
		"400":         {func(w http.ResponseWriter, _ []document) { w.WriteHeader(http.StatusBadRequest) }, "400", func(err error) bool { return !errors.As(err, &rejected) }},
		"a web page":  {func(w http.ResponseWriter, _ []document) { _, _ = w.Write([]byte("<html>")) }, "read the answer", nil},
		"nothing":     {func(http.ResponseWriter, []document) {}, "read the answer", nil},
		"another API": {func(w http.ResponseWriter, _ []document) { _, _ = w.Write([]byte("{}")) }, "not that of a bulk API", nil},
		"too few items": {func(w http.ResponseWriter, d []document) {
			items(w, d[1:], func(document) (int, string) { return 201, "" })
		}, "2 items for 3 documents", nil},
		"items of no kind": {func(w http.ResponseWriter, _ []document) {
			_, _ = w.Write([]byte(`{"errors":false,"items":[{},null,{}]}`))
		}, "busy", nil},
		"more than fits": {func(w http.ResponseWriter, d []document) {
			if len(d) > 1 || d[0]["message"] == "two" {
				w.WriteHeader(http.StatusRequestEntityTooLarge)
				return
			}
			items(w, d, func(document) (int, string) { return 201, "" })
		}, "413", func(err error) bool { return errors.As(err, &rejected) && slices.Equal(rejected.Lines, []int{1}) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			s.answer = c.answer
			if err := sinkAt(t, s).Deliver(t.Context(), batchOf("one", "two", "three")); err == nil || !strings.Contains(err.Error(), c.want) || c.holds != nil && !c.holds(err) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestCredentials(t *testing.T) {
	path := filepath.Join(t.TempDir(), "headers")
	if err := os.WriteFile(path, []byte("Authorization: ApiKey file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ key, user, query, want string }{
		{"", "", "", ""},
		{"abc", "", "", "ApiKey abc"},
		{"", "me", "", "Basic bWU6czNjcmV0"},
		{"", "me", "headers=" + url.QueryEscape(path), "ApiKey file"},
	} {
		s := serve(t)
		t.Setenv("OPENSEARCH_API_KEY", c.key)
		t.Setenv("OPENSEARCH_USERNAME", c.user)
		t.Setenv("OPENSEARCH_PASSWORD", "s3cret")
		x, err := opened("opensearch+"+s.URL+"/prefix/logs-jvm", c.query)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(x.Deliver(t.Context(), batchOf("one")), x.Close()); err != nil {
			t.Error(err)
		}
		if got := s.heads[0].Get("Authorization"); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestBadSettings(t *testing.T) {
	for name, c := range map[string]struct{ to, query, key, want string }{
		"no host":           {"opensearch+https:/logs", "", "", "no host"},
		"no index":          {"opensearch+https://x/", "", "", "no index"},
		"a bad index":       {"opensearch+https://x/Logs*", "", "", "cannot be an index"},
		"an unknown option": {"opensearch+https://x/logs", "speed=9", "", "unknown option speed"},
		"two credentials":   {"opensearch+https://x/logs", "", "s3cret", "both set"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OPENSEARCH_API_KEY", c.key)
			t.Setenv("OPENSEARCH_USERNAME", c.key)
			if _, err := opened(c.to, c.query); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// Whatever a line holds, a document is JSON, and has the text in UTF-8.
func FuzzDocument(f *testing.F) {
	f.Add([]byte("[1.5s][11][22][debug][gc,heap] GC(7) Pause\nmore\xff"), "gc.log")
	f.Fuzz(func(t *testing.T, raw []byte, stream string) {
		b := batchOf(strings.Split(string(raw), "\n")...)
		b.Stream = stream
		e := newEncoder(sink.Pod{Name: stream}, stream)
		for i := range b.Lines {
			e.text = e.text[:0]
			e.line(b, &b.Lines[i])
			action, rest, _ := strings.Cut(string(e.text), "\n")
			var doc document
			if err := json.Unmarshal([]byte(rest), &doc); err != nil || !json.Valid([]byte(action)) || !utf8.Valid(e.text) {
				t.Fatalf("%q: %v", e.text, err)
			}
			if p := b.Lines[i].Parts(); doc["message"] != strings.ToValidUTF8(string(p.Message), "\ufffd") {
				t.Fatalf("%q became %q", p.Message, doc["message"])
			}
		}
	})
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"errors":true,"items":[{"create":{"status":400,"error":{"type":"a","reason":"b"}}}]}`))
	f.Fuzz(func(_ *testing.T, text []byte) {
		a := newAttempt(batchOf("one"))
		_ = a.enter([]int{0}, text)
	})
}

// One core renders and compresses so many lines a second, and serves them.
func BenchmarkDeliver(b *testing.B) {
	var answer []byte
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(answer)
	}))
	defer s.Close()
	x, err := opened("opensearch+"+s.URL+"/logs", "")
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	var lines []string
	for i := range 2000 {
		lines = append(lines, fmt.Sprintf("[2026-11-22T10:00:%02d.%03d+0000][%d.%03ds][info][gc,heap] GC(%d) Eden regions: %d->0(%d) and some more of it", i/100, i%1000, i/100, i%1000, i/10, i%77, i%99))
	}
	answer = []byte(`{"errors":false,"items":[` + strings.TrimSuffix(strings.Repeat(`{"create":{"status":201}},`, len(lines)), ",") + `]}`)
	batch := batchOf(lines...)
	b.SetBytes(batch.Bytes)
	b.ReportAllocs()
	before := processorTime(b)
	for b.Loop() {
		if err := x.Deliver(context.Background(), batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*len(lines))/(processorTime(b)-before).Seconds(), "lines/cpu-s")
}

// processorTime is what this process has used, the server's part of it too.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// A server that answers with millions of items does not fill the memory of the sidecar: an
// answer has as many as the request.
func TestAnAnswerOfMillionsOfItems(t *testing.T) {
	body := []byte(`{"errors":false,"items":[` + strings.Repeat("0,", answerBytes/2-64) + `0]}`)
	a := newAttempt(batchOf("[1.0s][info][gc] one"))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := a.enter([]int{0}, body)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; err == nil || took > 1<<20 {
		t.Errorf("error %v, the answer took %d MiB", err, took>>20)
	}
}
