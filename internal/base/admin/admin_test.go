package admin

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/ullage/ullage/test/lab"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a running server with its address, registry and log.
type rig struct {
	base   string
	reg    *prometheus.Registry
	log    *lab.Journal
	client *http.Client
	stop   func() error // ends Run and returns its error
}

func start(t *testing.T, ready Check, status func() any) *rig {
	t.Helper()
	r := &rig{reg: prometheus.NewRegistry(), log: &lab.Journal{}, client: &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}}
	s, err := New(Config{Listen: "127.0.0.1:0"}, r.reg, Answers{Ready: ready, Status: status, Recent: func() Recent { return Recent{} }}, r.log.Logger())
	if err != nil {
		t.Fatal(err)
	}
	r.base = "http://" + s.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	r.stop = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() {
		r.client.CloseIdleConnections()
		if err := r.stop(); err != nil {
			t.Errorf("Run returned %v, want no error", err)
		}
	})
	return r
}

func (r *rig) do(t *testing.T, method, path string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequest(method, r.base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body), resp.Header
}

func TestPathsAndMethods(t *testing.T) {
	r := start(t, nil, func() any { return Status{Version: "v1", Where: Where{Source: "/var/log/jvm"}} })
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "ullage_test_total", Help: "Test."})
	r.reg.MustRegister(c)
	c.Add(7)
	for _, c := range []struct {
		method, path string
		code         int
		want         string
	}{
		{"GET", "/", 200, "/readyz"},
		{"GET", "/healthz", 200, "ok\n"},
		{"GET", "/readyz", 200, "ready\n"},
		{"GET", "/metrics", 200, "ullage_test_total 7\n"},
		{"GET", "/status", 200, "{\n  \"version\": \"v1\","},
		{"HEAD", "/metrics", 200, ""},
		{"HEAD", "/status", 200, ""},
		{"POST", "/metrics", 405, "Method Not Allowed"},
		{"DELETE", "/status", 405, "Method Not Allowed"},
		{"PUT", "/", 405, "Method Not Allowed"},
		{"GET", "/debug/pprof/", 404, "not found"},
		{"GET", "/statusx", 404, "not found"},
		{"GET", "//metrics/../status", 200, "\"version\""}, // the client follows the mux's redirect to the clean path
	} {
		code, body, _ := r.do(t, c.method, c.path)
		if code != c.code || !strings.Contains(body, c.want) || (c.method == "HEAD" && body != "") {
			t.Errorf("%s %s = %d %q, want %d and %q", c.method, c.path, code, body, c.code, c.want)
		}
	}
}

func TestReadyzGivesTheReasonOnOneBoundedLine(t *testing.T) {
	var mu sync.Mutex
	var state error
	r := start(t, func() error { mu.Lock(); defer mu.Unlock(); return state }, nil)
	for _, c := range []struct {
		err  error
		code int
		want string
	}{
		{nil, 200, "ready\n"},
		{errors.New("the destination fails: no space left on device"), 503, "the destination fails: no space left on device\n"},
		{errors.Join(errors.New("one"), errors.New("two\x1b[31m")), 503, "one two?[31m\n"},
		{errors.New(strings.Repeat("ü", 4096)), 503, strings.Repeat("ü", maxReason/2-2) + "…\n"},
		{nil, 200, "ready\n"},
	} {
		mu.Lock()
		state = c.err
		mu.Unlock()
		if code, body, _ := r.do(t, "GET", "/readyz"); code != c.code || body != c.want {
			t.Errorf("%v: %d %q, want %d %q", c.err, code, body, c.code, c.want)
		}
	}
}

func TestStatusRoundTrips(t *testing.T) {
	want := Status{Version: "v1", Started: time.Unix(1e9, 0).UTC(), Space: Space{BacklogBytes: 42}, Ignored: map[string]int64{"symlink": 2}}
	want.Streams, want.StreamsOmitted = []Stream{{Name: "gc", ReadBytes: 1}}, 3
	r := start(t, nil, func() any { return want })
	_, body, header := r.do(t, "GET", "/status")
	if got := header.Get("Content-Type"); got != "application/json" {
		t.Errorf(`the content type is %q, want "application/json"`, got)
	}
	var got Status
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Streams) != 1 || got.StreamsOmitted != 3 || got.BacklogBytes != 42 || got.Ignored["symlink"] != 2 || !got.Started.Equal(want.Started) {
		t.Errorf("the status is %+v; want 1 stream, 3 omitted, 2 ignored symlinks, a backlog of 42 bytes and the start %v", got, want.Started)
	}
	if strings.Contains(body, "lastCommit") {
		t.Error("the status has lastCommit, want none before the first commit")
	}
}

func TestStatusThatCannotBeEncodedIsAnErrorNotAHalfAnswer(t *testing.T) {
	r := start(t, nil, func() any { return map[string]any{"a": 1, "b": make(chan int)} })
	if code, body, _ := r.do(t, "GET", "/status"); code != 500 || strings.Contains(body, "{") {
		t.Errorf(`the status has code %d and body %q, want code 500 and no "{" in it`, code, body)
	}
}

// broken is a collector that fails at every scrape.
type broken struct{}

func (broken) Describe(ch chan<- *prometheus.Desc) { ch <- desc }
func (broken) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.NewInvalidMetric(desc, errors.New("cannot\ncollect"))
}

var desc = prometheus.NewDesc("ullage_broken", "Broken.", nil, nil)

func TestABrokenCollectorHidesNothingElseAndIsLoggedOnce(t *testing.T) {
	r := start(t, nil, nil)
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "ullage_good_total", Help: "Good."})
	r.reg.MustRegister(c, broken{})
	for range 3 {
		if code, body, _ := r.do(t, "GET", "/metrics"); code != 200 || !strings.Contains(body, "ullage_good_total 0") {
			t.Errorf(`the metrics have code %d and body %q, want code 200 and "ullage_good_total 0" in it`, code, body)
		}
	}
	if log := r.log.String(); strings.Count(log, "\n") != 1 || !strings.Contains(log, "cannot collect") {
		t.Errorf("the log has %q, want one line with the collector's error", log)
	}
}

// A killed sidecar keeps the port as long as a stalled disk delays its end.
func TestATakenPortIsTriedAgain(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	log := &lab.Journal{}
	s, err := New(Config{Listen: l.Addr().String()}, prometheus.NewRegistry(), Answers{}, log.Logger())
	if err != nil {
		t.Fatal(err)
	}
	if text := log.String(); !strings.Contains(text, "is taken") || !strings.Contains(text, "--listen") {
		t.Errorf(`the log has %q, want "is taken" in it and "--listen" in it`, text)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	l.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: lab.Patience}
	for deadline := time.Now().Add(lab.Patience); ; time.Sleep(20 * time.Millisecond) {
		resp, err := client.Get("http://" + l.Addr().String() + "/healthz")
		if err == nil {
			resp.Body.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the server does not answer at the address, which is free again: ", err)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestATakenPortDoesNotKeepRunFromEnding(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s, err := New(Config{Listen: l.Addr().String()}, prometheus.NewRegistry(), Answers{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ends(t, s)
}

func TestAnAddressThatCannotBeHadIsAnErrorAtTheStart(t *testing.T) {
	_, err := New(Config{Listen: "192.0.2.1:1"}, prometheus.NewRegistry(), Answers{}, slog.New(slog.DiscardHandler)) // an address at which no program can listen
	if err == nil || !strings.Contains(err.Error(), "cannot assign requested address") || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("error %v, want the cause and a hint", err)
	}
}

func TestOffListensNowhere(t *testing.T) {
	s, err := New(Config{Listen: Off}, prometheus.NewRegistry(), Answers{}, slog.New(slog.DiscardHandler))
	if err != nil || s.Addr() != nil {
		t.Fatalf("the address is %v, error %v; want neither", s.Addr(), err)
	}
	ends(t, s)
}

func TestConfig(t *testing.T) {
	for listen, ok := range map[string]bool{
		":9919": true, "127.0.0.1:0": true, "[::1]:9919": true, "off": true,
		"": false, "9919": false, ":http": false, ":65536": false, ":-1": false, "localhost": false,
	} {
		if bad := (Config{Listen: listen}).Validate(); (len(bad) == 0) != ok {
			t.Errorf("address %q has the errors %v; want it to be valid: %v", listen, bad, ok)
		}
	}
	c := DefaultConfig()
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	c.Flags(fs)
	if err := fs.Parse([]string{"--listen", "off"}); err != nil || c.Listen != Off {
		t.Errorf("listen is %q, error %v; want %q and no error", c.Listen, err, Off)
	}
}
