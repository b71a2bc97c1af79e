package otlp

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/address"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// batchOf makes a batch of lines.
func batchOf(lines ...string) *sink.Batch {
	b := &sink.Batch{Stream: "gc.log", Segment: segment.Info{Name: "s1", Start: noon}}
	var class ul.Classifier
	for i, text := range lines {
		b.Lines = append(b.Lines, sink.Line{Offset: b.Bytes, Text: []byte(text), Time: noon.Add(time.Duration(i) * time.Second), Class: class.Classify([]byte(text))})
		b.Bytes += int64(len(text)) + 1
	}
	return b
}

// server answers requests and decodes them with the generated types.
type server struct {
	*httptest.Server
	got    []*logs.LogsData
	heads  []http.Header
	answer func(w http.ResponseWriter, bodies []string)
}

func serve(t *testing.T) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		body, err := io.ReadAll(unpacked)
		data := &logs.LogsData{}
		if err := errors.Join(err, proto.Unmarshal(body, data)); err != nil || r.URL.Path != "/v1/logs" || r.Header.Get("Content-Type") != contentType {
			t.Errorf("%s %s of type %q: %v; want /v1/logs, %q and no error", r.Method, r.URL, r.Header.Get("Content-Type"), err, contentType)
		}
		s.got, s.heads = append(s.got, data), append(s.heads, r.Header)
		if s.answer != nil {
			s.answer(w, bodiesOf(data))
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func bodiesOf(data *logs.LogsData) (bodies []string) {
	for _, r := range data.ResourceLogs {
		for _, s := range r.ScopeLogs {
			for _, l := range s.LogRecords {
				bodies = append(bodies, l.Body.GetStringValue())
			}
		}
	}
	return bodies
}

// sinkAt opens the sink for a server.
func sinkAt(t *testing.T, s *server, query string) sink.Sink {
	t.Helper()
	x, err := opened("otlp+"+s.URL, query)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
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
	return Kind().Open(sink.Target{URL: u, Options: address.NewOptions(values), Pod: sink.Pod{Namespace: "shop", Name: "web-0", Container: "app"}})
}

func text(v string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: v}}
}

func number(v int64) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: v}}
}

func double(v float64) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: v}}
}

func attr(key string, v *common.AnyValue) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: v}
}

func record(second int, level logs.SeverityNumber, name, body string, attrs ...*common.KeyValue) *logs.LogRecord {
	return &logs.LogRecord{TimeUnixNano: uint64(noon.Add(time.Duration(second) * time.Second).UnixNano()), SeverityNumber: level, SeverityText: name, Body: text(body), Attributes: attrs}
}

// The generated types decode the request as intended.
func TestRecords(t *testing.T) {
	s := serve(t)
	gap := ul.Gap{Bytes: 99, First: noon, Last: noon.Add(1500 * time.Millisecond)}
	gap.Lines[ul.Discard][ul.Info], gap.Lines[ul.DropAll][ul.Unknown] = 3, 4
	b := batchOf("not UL", "[1.5s][11][22][debug][gc,heap] GC(7) Pause", "and\xff\xfe more\xff",
		strings.TrimSpace(string(gap.AppendMarker(nil))), "[3.0s][warning][] "+fmt.Sprintf("%6d", 12)+" messages dropped due to async logging",
		"[4.0s][info][gc] GC(8) Pause Full (System.gc()) 24M->5M(64M) 12.500ms",
		`[5.0s][info][safepoint] Safepoint "G1CollectFull", Time since last: 5 ns, Reaching safepoint: 2000000 ns, At safepoint: 13000000 ns, Total: 15000000 ns`,
		"6.000: [GC (Allocation Failure)  24M->5M(64M), 0.0125000 secs]")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "k8s.node.name=n%201, service.name=shop,k8s.pod.name=other")
	if err := sinkAt(t, s, "").Deliver(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	uid := func(i int) *common.KeyValue {
		return attr("log.record.uid", text(fmt.Sprintf("shop/web-0/app/gc.log/s1/%d", b.Lines[i].Offset)))
	}
	want := &logs.LogsData{ResourceLogs: []*logs.ResourceLogs{{
		Resource: &resource.Resource{Attributes: []*common.KeyValue{attr("service.name", text("shop")), attr("k8s.namespace.name", text("shop")),
			attr("k8s.pod.name", text("web-0")), attr("k8s.container.name", text("app")), attr("k8s.node.name", text("n 1")), attr("log.file.name", text("gc.log"))}},
		ScopeLogs: []*logs.ScopeLogs{{Scope: &common.InstrumentationScope{Name: "ullage"}, LogRecords: []*logs.LogRecord{
			record(0, 0, "", "not UL", uid(0)),
			record(1, logs.SeverityNumber_SEVERITY_NUMBER_DEBUG, "debug", "GC(7) Pause", uid(1), attr("ul.tags", text("gc,heap")), attr("ul.uptime", double(1.5)),
				attr("ul.gc.id", number(7)), attr("process.pid", number(11)), attr("thread.id", number(22))),
			record(2, logs.SeverityNumber_SEVERITY_NUMBER_DEBUG, "debug", "and\ufffd more\ufffd", uid(2)),
			record(3, logs.SeverityNumber_SEVERITY_NUMBER_WARN, "warning", "gap: 7 lines, 99 bytes dropped in 1.500s: discard info=3; drop unknown=4", uid(3),
				attr("ul.tags", text("ullage")), attr("ullage.gap.lines", number(7)), attr("ullage.gap.bytes", number(99)), attr("ullage.gap.seconds", double(1.5)),
				attr("ullage.gap.discard.info", number(3)), attr("ullage.gap.drop.unknown", number(4))),
			record(4, logs.SeverityNumber_SEVERITY_NUMBER_WARN, "warning", "    12 messages dropped due to async logging", uid(4), attr("ul.uptime", double(3)), attr("ul.dropped", number(12))),
			record(5, logs.SeverityNumber_SEVERITY_NUMBER_INFO, "info", "GC(8) Pause Full (System.gc()) 24M->5M(64M) 12.500ms", uid(5), attr("ul.tags", text("gc")), attr("ul.uptime", double(4)), attr("ul.gc.id", number(8)),
				attr("jvm.gc.action", text("end of major GC")), attr("jvm.gc.cause", text("System.gc()")), attr("ullage.stop.seconds", double(0.0125))),
			record(6, logs.SeverityNumber_SEVERITY_NUMBER_INFO, "info", `Safepoint "G1CollectFull", Time since last: 5 ns, Reaching safepoint: 2000000 ns, At safepoint: 13000000 ns, Total: 15000000 ns`, uid(6), attr("ul.tags", text("safepoint")), attr("ul.uptime", double(5)),
				attr("ullage.safepoint.operation", text("G1CollectFull")), attr("ullage.safepoint.reaching_seconds", double(0.002)), attr("ullage.stop.seconds", double(0.015))),
			record(7, logs.SeverityNumber_SEVERITY_NUMBER_INFO, "info", "6.000: [GC (Allocation Failure)  24M->5M(64M), 0.0125000 secs]", uid(7)),
		}}},
	}}}
	for i, name := range map[int]string{3: "ullage.gap", 5: "ullage.gc_pause", 6: "ullage.safepoint"} {
		want.ResourceLogs[0].ScopeLogs[0].LogRecords[i].EventName = name
	}
	if diff := cmp.Diff(want, s.got[0], protocmp.Transform(), protocmp.IgnoreFields(&logs.LogRecord{}, "observed_time_unix_nano")); diff != "" {
		t.Errorf("the request (-want +got):\n%s", diff)
	}
	for _, l := range s.got[0].ResourceLogs[0].ScopeLogs[0].LogRecords {
		if at := time.Unix(0, int64(l.ObservedTimeUnixNano)); time.Since(at) > time.Minute {
			t.Errorf("a record was observed at %s, want now", at)
		}
	}
}

func TestAnswers(t *testing.T) {
	b := batchOf("[1.0s][info][gc] one", "[2.0s][info][gc] bad", "[3.0s][info][gc] three", "[4.0s][info][gc] bad too", "[5.0s][info][gc] five")
	rejected, busy := &sink.RejectedError{}, &sink.BusyError{}
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, bodies []string)
		want   string // part of the error; "" if there is no error
		holds  func(err error) bool
	}{
		"taken": {func(w http.ResponseWriter, _ []string) { w.Header().Set("Content-Type", contentType) }, "", nil},
		"429 with Retry-After": {func(w http.ResponseWriter, _ []string) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		}, "429", func(err error) bool { return errors.As(err, &busy) && busy.After == 7*time.Second }},
		"503": {func(w http.ResponseWriter, _ []string) { w.WriteHeader(http.StatusServiceUnavailable) }, "503", func(err error) bool { return errors.As(err, &busy) && busy.After == 0 }},
		"a status with a message": {func(w http.ResponseWriter, _ []string) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte("\x08\x07\x12\x08no entry"))
		}, "403 Forbidden: no entry", func(err error) bool { return !errors.As(err, &rejected) && !errors.As(err, &busy) }},
		"a partial success": {func(w http.ResponseWriter, _ []string) {
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write([]byte("\x0a\x0b\x08\x02\x12\x07too old"))
		}, "too old", func(err error) bool { return errors.As(err, &rejected) && rejected.Some == 2 && rejected.Lines == nil }},
		"a partial success that refuses nothing": {func(w http.ResponseWriter, _ []string) {
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write([]byte("\x0a\x07\x12\x05hello"))
		}, "", nil},
		"a partial success of less than nothing": {func(w http.ResponseWriter, _ []string) {
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write([]byte("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
		}, "", nil},
		"rubbish": {func(w http.ResponseWriter, _ []string) {
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write([]byte("\xff\xff"))
		}, "read the answer", nil},
		"a login page": {func(w http.ResponseWriter, _ []string) { _, _ = w.Write([]byte("<html>log in</html>")) }, `"text/html", but OTLP requires application/x-protobuf`, nil},
		"a web server that welcomes everybody": {func(w http.ResponseWriter, _ []string) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write([]byte("welcome to the default backend"))
		}, `"text/plain", but OTLP requires application/x-protobuf`, func(err error) bool { return !errors.As(err, &rejected) }},
		"204 without content": {func(w http.ResponseWriter, _ []string) { w.WriteHeader(http.StatusNoContent) }, "", nil},
		"a redirect": {func(w http.ResponseWriter, _ []string) {
			w.Header().Set("Location", "https://example.invalid/")
			w.WriteHeader(http.StatusMovedPermanently)
		}, "301", nil},
		"a port with TLS behind nginx": {func(w http.ResponseWriter, _ []string) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte("<center>The plain HTTP request was sent to HTTPS port</center>"))
		}, "use otlp+https", func(err error) bool { return !errors.As(err, &rejected) }},
		"lines that are refused are found": {func(w http.ResponseWriter, bodies []string) {
			if strings.Contains(strings.Join(bodies, "\n"), "bad") {
				w.WriteHeader(http.StatusBadRequest)
			}
		}, "400", func(err error) bool {
			return errors.As(err, &rejected) && slices.Equal(rejected.Lines, []int{1, 3}) && rejected.Some == 0
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			s.answer = c.answer
			err := sinkAt(t, s, "").Deliver(t.Context(), b)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) || c.holds != nil && !c.holds(err) {
				t.Errorf("the error is %v, want one with %q (none if that is empty) that meets the condition of the case", err, c.want)
			}
		})
	}
}

// A server of Go answers 400 to a request without TLS. The lines are not refused, so they wait for
// another URL.
func TestARequestWithoutTLSToAPortWithTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	x, err := opened("otlp+http://"+s.Listener.Addr().String(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var rejected *sink.RejectedError
	if err := x.Deliver(t.Context(), batchOf("[1.0s][info][gc] one")); err == nil || errors.As(err, &rejected) {
		t.Errorf("the error is %v, want one other than a RejectedError", err)
	}
}

// A server that refuses everything gets a bounded number of requests.
func TestTheSearchForRefusedLinesEnds(t *testing.T) {
	s := serve(t)
	s.answer = func(w http.ResponseWriter, _ []string) { w.WriteHeader(http.StatusBadRequest) }
	var rejected *sink.RejectedError
	b := batchOf(slices.Repeat([]string{"[1.0s][info][gc] one"}, 4096)...)
	if err := sinkAt(t, s, "").Deliver(t.Context(), b); !errors.As(err, &rejected) || len(rejected.Lines) != len(b.Lines) {
		t.Errorf("the error is %v, want a RejectedError with all %d lines", err, len(b.Lines))
	}
	if n := len(s.got); n > 2*maxRequests {
		t.Errorf("the search took %d requests, want at most %d", n, 2*maxRequests)
	}
}

func TestHeadersComeFromTheEnvironmentOrAFile(t *testing.T) {
	s := serve(t)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20one,x-scope=a")
	path := filepath.Join(t.TempDir(), "headers")
	if err := os.WriteFile(path, []byte("\nAuthorization: Bearer two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := batchOf("[1.0s][info][gc] one")
	x := sinkAt(t, s, "headers="+url.QueryEscape(path))
	for _, deliver := range []func() error{
		func() error { return sinkAt(t, s, "").Deliver(t.Context(), b) },
		func() error { return x.Deliver(t.Context(), b) },
		func() error {
			err := os.WriteFile(path, []byte("Authorization: Bearer three"), 0o600)
			return errors.Join(err, x.Deliver(t.Context(), b))
		},
	} {
		if err := deliver(); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{"Bearer one", "Bearer two", "Bearer three"} {
		if got := s.heads[i].Get("Authorization"); got != want {
			t.Errorf("request %d has %q, want %q", i, got, want)
		}
	}
	if got := s.heads[1].Get("X-Scope"); got != "" {
		t.Errorf("with a file, the environment's header is sent too: %q, want none", got)
	}
}

// A Secret is created after the sidecar has started. Deliveries fail until then.
func TestAFileOfHeadersThatDoesNotExistYet(t *testing.T) {
	s := serve(t)
	path := filepath.Join(t.TempDir(), "headers")
	x, b := sinkAt(t, s, "headers="+url.QueryEscape(path)), batchOf("[1.0s][info][gc] one")
	if err := x.Deliver(t.Context(), b); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("the file is missing: error %v, want one with %s", err, path)
	}
	if err := os.WriteFile(path, []byte("Authorization: Bearer one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := x.Deliver(t.Context(), b); err != nil {
		t.Fatalf("the file exists: error %v, want none", err)
	}
	if len(s.heads) != 1 || s.heads[0].Get("Authorization") != "Bearer one" {
		t.Errorf("the requests have the headers %v, want one request with Authorization: Bearer one", s.heads)
	}
}

func TestBadSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "headers")
	if err := os.WriteFile(path, []byte("Authorization Bearer s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ to, query, env, want string }{
		"no host":              {"otlp+https:/v1/logs", "", "", "no host"},
		"an unknown option":    {"otlp+https://x", "speed=9", "", "unknown option speed"},
		"a file without names": {"otlp+https://x", "headers=" + url.QueryEscape(path), "", "line 1 is not"},
		"a variable":           {"otlp+https://x", "", "s3cret", "OTEL_EXPORTER_OTLP_HEADERS is not a list"},
		"a header":             {"otlp+https://x", "", "a=s3cret%0a", "header 1 is not one that HTTP allows"},
		"a key alone":          {"otlp+https://x", "key=/x", "", "cert and key must be set together"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", c.env)
			if _, err := opened(c.to, c.query); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestADeliveryEndsWithItsContext(t *testing.T) {
	s := serve(t)
	gone := make(chan struct{})
	defer close(gone)
	s.answer = func(http.ResponseWriter, []string) { <-gone }
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := sinkAt(t, s, "").Deliver(ctx, batchOf("one")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v, want DeadlineExceeded", err)
	}
}

// The generated types decode the request, whatever a line holds.
func FuzzEncode(f *testing.F) {
	f.Add([]byte("[1.5s][11][22][debug][gc,heap] GC(7) Pause\nmore\xff"), "gc.log")
	f.Add([]byte("[2026-11-21T10:49:00.123+0000][warning][ullage] gap: 34 lines, 9 bytes dropped in 0.000s: drop info=34"), "a")
	f.Fuzz(func(t *testing.T, raw []byte, stream string) {
		if segment.ValidStream(stream) != nil {
			return
		}
		b := batchOf(strings.Split(string(raw), "\n")...)
		b.Stream = stream
		e := encoder{uidPrefix: "a/b/c/"}
		e.batch(b, noon)
		data := &logs.LogsData{}
		if err := proto.Unmarshal(append(e.envelope(stream, len(e.records)), e.records...), data); err != nil || len(bodiesOf(data)) != len(b.Lines) {
			t.Errorf("%d lines became %d records, error %v; want a record for each line and no error", len(b.Lines), len(bodiesOf(data)), err)
		}
	})
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte("\x0a\x0b\x08\x02\x12\x07too old"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if p, err := partialOf(body); err == nil && (p.count < 0 || len(p.message) > maxMessage+8) {
			t.Errorf("the partial success is read as %+v, want a count of at least 0 and a message of at most %d bytes", p, maxMessage+8)
		}
		_ = statusMessage(body)
	})
}

// BenchmarkDeliver prints how many lines one core encodes, compresses and serves in a second.
func BenchmarkDeliver(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer s.Close()
	x, err := opened("otlp+"+s.URL, "")
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	var lines []string
	for i := range 2000 {
		lines = append(lines, fmt.Sprintf("[2026-11-22T10:00:%02d.%03d+0000][%d.%03ds][info][gc,heap] GC(%d) Eden regions: %d->0(%d) and some more of it", i/100, i%1000, i/100, i%1000, i/10, i%77, i%99))
	}
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

// processorTime returns the CPU time of this process, including that of the server.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
