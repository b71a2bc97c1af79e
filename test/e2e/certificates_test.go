package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"
)

// A client empties the Secret of the certificates. The injectors make a new CA, API servers trust both CAs, and a
// minute later the injectors serve with a certificate from the new CA. Every pod that is created meanwhile gets a
// sidecar.
//
// This test waits longer than all others, so it is in a file whose tests begin early.
func TestInjectorCertificatesAreRenewedWhileInUse(t *testing.T) {
	t.Parallel() // no other test should be affected
	s := newSpace(t)
	served, first := map[string]func() (*x509.Certificate, error){}, map[string]*x509.Certificate{}
	for _, pod := range serving(s) {
		served[pod] = certificateOf(s, pod)
		first[pod] = otherThan(s, nil, served[pod], 30*time.Second)
	}
	old := caBundle(s)[0]
	pods := createPods(s, 50, time.Second)

	began := time.Now()
	s.must(kubectl("", "-n", system, "patch", "secret", "ullage-injector-certificate", "--type=json", "--patch", `[{"op": "remove", "path": "/data"}]`))
	s.eventually(time.Minute, "a new CA before the old one", func() bool {
		now := caBundle(s)
		return !now[0].Equal(old) && slices.ContainsFunc(now, old.Equal)
	})
	trusted := time.Since(began)
	roots := x509.NewCertPool()
	roots.AddCert(caBundle(s)[0])
	for pod, certificate := range served {
		now := otherThan(s, first[pod], certificate, 3*time.Minute)
		if _, err := now.Verify(x509.VerifyOptions{DNSName: "ullage-injector." + system + ".svc", Roots: roots}); err != nil {
			t.Errorf("the certificate of %s is not from the new CA: %v", pod, err)
		}
		if now.SerialNumber.Cmp(first[pod].SerialNumber) == 0 {
			t.Errorf("two certificates of %s have the serial number %s", pod, now.SerialNumber)
		}
	}
	renewed := time.Since(began)
	created := pods.stop()
	figures.add("certificates emptied: new CA trusted, new certificate served by all", fmt.Sprintf("%.0f s, %.0f s", trusted.Seconds(), renewed.Seconds()), "30 s, 150 s")
	figures.add("certificates emptied: pods created meanwhile, all injected", fmt.Sprint(created), "at least 50")
}

// caBundle returns the CAs that API servers trust for the injector.
func caBundle(s *space) []*x509.Certificate {
	s.Helper()
	encoded := s.must(kubectl("", "get", "mutatingwebhookconfiguration", "ullage-injector", "-o", "jsonpath={.webhooks[0].clientConfig.caBundle}"))
	text, err := base64.StdEncoding.DecodeString(encoded)
	var cas []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil && err == nil; block, rest = pem.Decode(rest) {
		var ca *x509.Certificate
		ca, err = x509.ParseCertificate(block.Bytes)
		cas = append(cas, ca)
	}
	if err != nil || len(cas) == 0 {
		s.Fatalf("read the caBundle %q: %v", encoded, err)
	}
	return cas
}

// otherThan waits for a certificate other than the earlier one.
func otherThan(s *space, earlier *x509.Certificate, certificate func() (*x509.Certificate, error), within time.Duration) *x509.Certificate {
	s.Helper()
	var now *x509.Certificate
	var last error
	err := wait(within, func() bool {
		now, last = certificate()
		return last == nil && !now.Equal(earlier)
	})
	if err != nil {
		s.Fatalf("no new certificate of an injector: %v; the last error: %v", err, last)
	}
	return now
}

// certificateOf returns a function that asks an injector for its current serving certificate.
func certificateOf(s *space, pod string) func() (*x509.Certificate, error) {
	f := &forwarded{space: s, namespace: system, pod: pod, port: 9443}
	return func() (*x509.Certificate, error) {
		address, err := f.address()
		if err != nil {
			return nil, err
		}
		dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: 10 * time.Second}, Config: &tls.Config{InsecureSkipVerify: true}}
		ctx, cancel := context.WithTimeout(s.Context(), 20*time.Second)
		defer cancel()
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, fmt.Errorf("connect to %s: %w", pod, err)
		}
		defer conn.Close()
		return conn.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
	}
}
