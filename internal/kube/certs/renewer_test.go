package certs

import (
	"context"
	"crypto/x509"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/test/lab"
)

// replica is one injector's renewer.
type replica struct {
	*renewer
	journal *lab.Journal
}

func newReplica(t *testing.T, f *fakeAPI, c *clock) *replica {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Secret, cfg.Service, cfg.Namespace, cfg.Configuration, cfg.Cluster = "certs", "injector", "shop-system", "ullage", f.cluster
	if bad := cfg.Validate(); len(bad) > 0 {
		t.Fatalf("the errors are %v, want none", bad)
	}
	m := newMetrics(prometheus.NewRegistry())
	api, err := newClient(cfg.Cluster, m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close) // closes the connections of the last client
	log := &lab.Journal{}
	r := newRenewer(cfg, api, newServing(m), log.Logger())
	r.now = c.now
	return &replica{renewer: r, journal: log}
}

func (r *replica) mustLook(t *testing.T) {
	t.Helper()
	if err := r.look(t.Context()); err != nil {
		t.Fatalf("the error of look is %v, want none; the journal is\n%s", err, r.journal)
	}
}

// serial returns the serial number of the served certificate, or "".
func (r *replica) serial() string {
	if c := r.serving.current.Load(); c != nil {
		return c.Leaf.SerialNumber.String()
	}
	return ""
}

// reachable returns an error if an API server would not accept the replica's certificate.
func (r *replica) reachable(f *fakeAPI, now time.Time) error {
	c := r.serving.current.Load()
	if c == nil {
		return errors.New("no certificate is served")
	}
	for _, i := range []int{0, 2} {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM([]byte(f.bundles()[i]))
		if _, err := c.Leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, DNSName: "injector.shop-system.svc"}); err != nil {
			return err
		}
	}
	return nil
}

func cas(data map[string][]byte) int { return strings.Count(string(data[caCertKey]), "BEGIN") }

func TestAnEmptySecretIsFilledAndPublished(t *testing.T) {
	f, c := newFakeAPI(t), newClock()
	r := newReplica(t, f, c)
	if r.trusted() == nil || r.serving.valid(c.now()) == nil {
		t.Error("the replica is ready before the first look, want it not ready")
	}
	r.mustLook(t)
	if err := errors.Join(r.reachable(f, c.now()), r.trusted(), r.serving.valid(c.now())); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"injector", "injector.shop-system", "injector.shop-system.svc", "injector.shop-system.svc.cluster.local"} {
		if err := r.serving.current.Load().Leaf.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}
	data := f.data()
	if string(data["other"]) != "other" || len(data) != 5 || cas(data) != 1 {
		t.Errorf("the Secret has %d keys, %d CAs, and %q under other; want 5, 1, and \"other\" as before", len(data), cas(data), data["other"])
	}
	if b := f.bundles(); b[0] != string(data[caCertKey]) || b[1] != "foreign" || b[2] != b[0] {
		t.Errorf("the caBundles are %q, want that of the Secret, \"foreign\" as before, and that of the Secret", b)
	}
	var s map[string]any
	f.read(secretPath, &s)
	delete(s, "data")
	want := map[string]any{"kind": "Secret", "apiVersion": "v1", "type": "Opaque", "future": map[string]any{"field": 1.0},
		"metadata": map[string]any{"name": "certs", "labels": map[string]any{"app": "ullage"}, "resourceVersion": s["metadata"].(map[string]any)["resourceVersion"]}}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("the rest of the Secret has changed (-want +got):\n%s", diff)
	}
	writes := f.written()
	if r.mustLook(t); f.written() != writes {
		t.Error("a second look writes again, want no write")
	}
	if err := r.reachable(f, c.now().Add(-skew+time.Minute)); err != nil {
		t.Errorf("with a slow clock: %v, want no error", err)
	}
}

func TestReplicasAgree(t *testing.T) {
	for _, n := range []int{2, 10} {
		f, c := newFakeAPI(t), newClock()
		var all []*replica
		for range n {
			all = append(all, newReplica(t, f, c))
		}
		var work sync.WaitGroup
		for _, r := range all {
			work.Go(func() { r.mustLook(t) })
		}
		work.Wait()
		for i, r := range all {
			if err := errors.Join(r.reachable(f, c.now()), r.trusted()); err != nil || r.serial() != all[0].serial() {
				t.Errorf("replica %d of %d: serial %s, error %v; want serial %s and no error", i, n, r.serial(), err, all[0].serial())
			}
			if n := testutil.ToFloat64(r.serving.metrics.renewals); n != 0 {
				t.Errorf("replica %d has %v renewals, want 0", i, n)
			}
		}
		if f.written() != 4 { // the test creates two objects, and the replicas write each once
			t.Errorf("%d replicas made %d writes, want 4", n, f.written())
		}
	}
}

func TestTheCABundleIsRepaired(t *testing.T) {
	f, c := newFakeAPI(t), newClock()
	r := newReplica(t, f, c)
	r.mustLook(t)
	serial := r.serial()
	f.put(configPath, `{"metadata":{"name":"ullage"},"webhooks":[{"clientConfig":{"url":"https://injector.shop-system.svc/mutate","caBundle":"eA=="}},{"clientConfig":{"service":{"name":"injector","namespace":"elsewhere"}}},{"clientConfig":{"service":{"name":"injector","namespace":"shop-system"}}}]}`)
	r.mustLook(t)
	if err := errors.Join(r.reachable(f, c.now()), r.trusted()); err != nil || r.serial() != serial || f.bundles()[1] != "" {
		t.Errorf("error %v, serial %s, the caBundles are %q; want no error, serial %s and an empty second caBundle", err, r.serial(), f.bundles(), serial)
	}
	f.put(configPath, `{"metadata":{"name":"ullage"},"webhooks":[]}`)
	if err := r.look(t.Context()); err == nil || r.trusted() == nil || !strings.Contains(r.trusted().Error(), "service injector in namespace shop-system") {
		t.Errorf("without webhooks, the error of look is %v and that of trusted %v; want an error of each, and the second to name the service injector", err, r.trusted())
	}
}

func TestTheAPIIsDownAtTheStartAndLater(t *testing.T) {
	f, c := newFakeAPI(t), newClock()
	r := newReplica(t, f, c)
	f.setDown(true)
	for range 3 {
		err := r.look(t.Context())
		if err == nil || r.trusted() == nil || r.serving.valid(c.now()) == nil {
			t.Fatalf("without an API: error %v, or the replica is ready; want an error and a replica that is not ready", err)
		}
	}
	f.setDown(false)
	r.mustLook(t)
	f.setDown(true)
	c.add(61 * 24 * time.Hour)
	for range 3 {
		r.report(r.look(t.Context()))
	}
	if err := errors.Join(r.trusted(), r.serving.valid(c.now())); err != nil {
		t.Errorf("the replica is no longer ready: %v", err)
	}
	if n := strings.Count(r.journal.String(), "certificate maintenance failed"); n > 3 { // each error may name another port and is then logged
		t.Errorf("the failure was logged %d times, want at most 3: %s", n, r.journal)
	}
	if n := testutil.ToFloat64(r.api.metrics.apiErrors.WithLabelValues("get_secret")); n != 6 {
		t.Errorf("%v errors of the API are counted, want 6", n)
	}
	f.setDown(false)
	serial := r.serial()
	r.report(r.look(t.Context()))
	if r.serial() == serial || !strings.Contains(r.journal.String(), "certificate maintenance works again") {
		t.Errorf("the certificate was not renewed once the API was back: %s", r.journal)
	}
}

func TestSomebodyElseIsFasterBetweenReadAndWrite(t *testing.T) {
	for _, gap := range []string{"PUT " + secretPath, "PATCH " + configPath} {
		f, c := newFakeAPI(t), newClock()
		slow, fast := newReplica(t, f, c), newReplica(t, f, c)
		var happened atomic.Bool
		f.before = func(method, path string) {
			if method+" "+path == gap && !happened.Swap(true) {
				fast.mustLook(t)
			}
		}
		slow.mustLook(t)
		if err := errors.Join(slow.reachable(f, c.now()), slow.trusted(), fast.reachable(f, c.now())); err != nil || slow.serial() != fast.serial() {
			t.Errorf("gap %s: serials %s and %s, error %v; want the same serial and no error", gap, slow.serial(), fast.serial(), err)
		}
		for _, op := range operations {
			if n := testutil.ToFloat64(slow.api.metrics.apiErrors.WithLabelValues(op)); n != 0 {
				t.Errorf("%s: %v errors of %s, want 0", gap, n, op)
			}
		}
	}
}

func TestRunGoesOnUntilItIsTold(t *testing.T) {
	f, c := newFakeAPI(t), newClock()
	r := newReplica(t, f, c)
	f.setDown(true)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { r.run(ctx); close(done) }()
	lab.Eventually(t, patience, "a first error", func() bool { return strings.Contains(r.journal.String(), "certificate maintenance failed") })
	f.setDown(false)
	lab.Eventually(t, patience, "ready", func() bool { return r.trusted() == nil })
	cancel()
	<-done
}

func TestAReplicaThatCannotReadTheSecretUndoesNothing(t *testing.T) {
	f, c := newFakeAPI(t), newClock()
	blind, other := newReplica(t, f, c), newReplica(t, f, c)
	blind.mustLook(t)
	other.mustLook(t)
	c.add(250 * 24 * time.Hour) // the serving certificate has expired and the CA is to be replaced
	other.mustLook(t)
	bundle := f.bundles()[0]
	f.setFail("GET "+secretPath, 503)
	for range 2 {
		if err := blind.look(t.Context()); err == nil || f.bundles()[0] != bundle {
			t.Errorf("error %v, want an error and an unchanged caBundle", err)
		}
	}
	f.set(configPath, "webhooks", nil)
	if err := blind.look(t.Context()); err == nil || blind.trusted() == nil {
		t.Errorf("error %v, want an error and a replica that is not trusted", err)
	}
}
