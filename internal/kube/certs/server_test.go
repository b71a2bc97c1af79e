package certs

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// apiServer returns a client that trusts the current caBundle at the current
// time of c.
func apiServer(f *fakeAPI, c *clock, keepAlive bool) *http.Client {
	return &http.Client{Timeout: lab.Patience, Transport: &http.Transport{
		DisableKeepAlives: !keepAlive,
		TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true, // VerifyConnection verifies instead
			VerifyConnection: func(state tls.ConnectionState) error {
				roots := x509.NewCertPool()
				roots.AppendCertsFromPEM([]byte(f.bundles()[0]))
				_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, DNSName: "injector.shop-system.svc", CurrentTime: c.now()})
				return err
			},
		},
	}}
}

// TestRenewalsWhileConnectionsAreInUse renews the serving certificate and the
// CA while 20 clients send requests, half of them over a new connection each time.
func TestRenewalsWhileConnectionsAreInUse(t *testing.T) {
	f, clock := newFakeAPI(t), newClock()
	other, follower := newReplica(t, f, clock), newReplica(t, f, clock) // follower serves what other writes
	follower.mustLook(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetCertificate: follower.serving.Get, SessionTicketsDisabled: true})
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ErrorLog: newQuietLog()}
	stop := make(chan struct{})
	var work sync.WaitGroup
	var requests atomic.Int64
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	defer func() { close(stop); work.Wait(); server.Close(); serving.Wait() }()
	for i := range 20 {
		c := apiServer(f, clock, i%2 == 0)
		work.Go(func() {
			defer c.CloseIdleConnections()
			for {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Millisecond): // leaves CPU time to the replicas
				}
				resp, err := c.Get("https://" + l.Addr().String())
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				requests.Add(1)
			}
		})
	}
	serials := map[string]bool{}
	for range 14 {
		for range 2 { // a new CA has settled at the second look
			clock.add(settleTime)
			other.mustLook(t)
			follower.mustLook(t)
		}
		serials[follower.serial()] = true
		before := requests.Load()
		lab.Eventually(t, patience, "requests with this certificate", func() bool { return t.Failed() || requests.Load() > before+20 })
		clock.add(20 * 24 * time.Hour)
	}
	if len(serials) < 5 {
		t.Errorf("only %d certificates, want at least 5", len(serials))
	}
	t.Logf("%d requests, %d certificates", requests.Load(), len(serials))
}
