package kubeapi

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/kube/names"
	"github.com/ullage/ullage/test/lab"
)

// fakeAPI is an API server that accepts events.
type fakeAPI struct {
	cluster Cluster
	answer  func() int // the status code; may block

	mu     sync.Mutex
	paths  []string
	events []map[string]any
}

func newFakeAPI(t *testing.T) *fakeAPI {
	t.Helper()
	f := &fakeAPI{answer: func() int { return http.StatusCreated }}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e map[string]any
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil || r.Method != http.MethodPost || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("%s with %q, error %v; want POST with \"Bearer secret\" and a body of JSON", r.Method, r.Header.Get("Authorization"), err)
		}
		code := f.answer()
		f.mu.Lock()
		defer f.mu.Unlock()
		f.paths, f.events = append(f.paths, r.URL.Path), append(f.events, e)
		w.WriteHeader(code)
		fmt.Fprint(w, `{"message":"from the API"}`)
	}))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	f.cluster = Cluster{Host: u.Hostname(), Port: u.Port(), TokenFile: filepath.Join(dir, "token"), CAFile: filepath.Join(dir, "ca.crt")}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(f.cluster.CAFile, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.cluster.TokenFile, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

// recorder returns a Recorder that is not running yet and does not pause between events.
func (f *fakeAPI) recorder(t *testing.T) (r *Recorder, log *lab.Journal, run func()) {
	t.Helper()
	log = &lab.Journal{}
	r, err := NewRecorder(f.cluster, prometheus.NewRegistry(), log.Logger())
	if err != nil {
		t.Fatal(err)
	}
	r.interval = 0
	return r, log, func() {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { r.Run(ctx); close(done) }()
		t.Cleanup(func() { cancel(); <-done })
	}
}

func (r *Recorder) count(result string) float64 {
	return testutil.ToFloat64(r.results.WithLabelValues(result))
}

var event = Event{Namespace: "shop", APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-5f7", UID: "u-1", Reason: "NotInjected", Message: "why\nnot", Warning: true}

func TestAnEventIsOfThePodsController(t *testing.T) {
	f := newFakeAPI(t)
	r, _, run := f.recorder(t)
	r.Record(event)
	run()
	lab.Eventually(t, time.Minute, "an event", func() bool { return r.count(created) == 1 })
	e := f.events[0]
	got, err := json.Marshal([]any{f.paths[0], e["involvedObject"], e["reason"], e["message"], e["type"]})
	if err != nil {
		t.Fatal(err)
	}
	const want = `["/api/v1/namespaces/shop/events",{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-5f7","namespace":"shop","uid":"u-1"},"NotInjected","why not","Warning"]`
	if string(got) != want {
		t.Errorf("the API got\n%s\nwant\n%s", got, want)
	}
}

// A Deployment of a hundred pods causes one event. A client of the webhook can only cause events, and only in a
// namespace with a valid name.
func TestEventsAreBounded(t *testing.T) {
	f := newFakeAPI(t)
	r, _, run := f.recorder(t)
	for range 30 {
		r.Record(event)
	}
	for _, bad := range []string{"", "../secrets", "shop/pods", "Shop", strings.Repeat("n", 64)} {
		e := event
		e.Namespace = bad
		r.Record(e)
	}
	for _, change := range []func(*Event){func(e *Event) { e.Name = strings.Repeat("n", 300) }, func(e *Event) { e.Kind = "" }, func(e *Event) { e.UID = strings.Repeat("u", 300) }} {
		e := event
		change(&e)
		r.Record(e)
	}
	for n := range 100 { // the queue has room for 34 more
		e := event
		e.Name = fmt.Sprintf("web-%d", n)
		r.Record(e)
	}
	run()
	lab.Eventually(t, time.Minute, "all events", func() bool { return r.count(created)+r.count(repeated) == maxQueued })
	if c, again, lost := r.count(created), r.count(repeated), r.count(dropped); c != 35 || again != 29 || lost != 66 {
		t.Errorf("%v events were created, %v repeated, %v dropped; want 35, 29, 66", c, again, lost)
	}
}

// Events are held in the queue, and for ten minutes after their creation. A pod with ten
// thousand bad annotations has megabytes of warnings.
func TestAMessageIsCutBeforeItWaits(t *testing.T) {
	r, _, _ := newFakeAPI(t).recorder(t)
	e := event
	e.Message = strings.Repeat("a warning; ", 1<<20)
	r.Record(e)
	if got := (<-r.queue).Message; len(got) > names.MaxText || !strings.HasPrefix(got, "a warning; ") {
		t.Errorf("a message of %d bytes waits, want at most %d", len(got), names.MaxText)
	}
}

func TestAFailureIsLoggedOnceAndDelaysNobody(t *testing.T) {
	f := newFakeAPI(t)
	release := make(chan struct{})
	f.answer = func() int { <-release; return http.StatusForbidden }
	r, log, run := f.recorder(t)
	run()
	for n := range 3 * maxQueued { // none of these calls waits for the API
		e := event
		e.Name = fmt.Sprintf("web-%d", n)
		r.Record(e)
	}
	close(release)
	lab.Eventually(t, time.Minute, "every event failed or was dropped", func() bool { return r.count(failed)+r.count(dropped) == 3*maxQueued })
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), `needs a role that allows \"create\" on \"events\"`) {
		t.Errorf(`%d lines, want 1, with "needs a role that allows \"create\" on \"events\"" in it: %s`, n, log)
	}
}

// An event whose creation failed is created when it is recorded again. If the pod's
// namespace is gone, the log does not blame the Helm chart.
func TestAFailedEventIsCreatedLater(t *testing.T) {
	f := newFakeAPI(t)
	codes := []int{http.StatusNotFound, http.StatusCreated}
	f.answer = func() int { code := codes[0]; codes = codes[1:]; return code }
	r, log, run := f.recorder(t)
	run()
	r.Record(event)
	lab.Eventually(t, time.Minute, "a failure", func() bool { return r.count(failed) == 1 })
	r.Record(event)
	lab.Eventually(t, time.Minute, "an event", func() bool { return r.count(created) == 1 })
	if text := log.String(); !strings.Contains(text, "the API answered 404 (from the API)") || strings.Contains(text, "Helm chart") {
		t.Errorf(`the log: %s, want "the API answered 404 (from the API)" in it and no "Helm chart" in it`, text)
	}
}
