package e2e

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// The certificates' Secret is emptied. The injectors make a new CA, are trusted
// with both, and a minute later serve with a certificate of the new one; no pod
// that is created meanwhile goes without a sidecar.
//
// The test mostly waits, longer than all others: so it is in a file whose tests begin
// early.
func TestInjectorCertificatesAreRenewedWhileInUse(t *testing.T) {
	t.Parallel() // nobody else should notice
	s := newSpace(t)
	served, first := map[string]func() *x509.Certificate{}, map[string]*x509.Certificate{}
	for _, pod := range strings.Fields(s.injectors()) {
		served[pod] = s.certificateOf(pod)
		first[pod] = s.otherThan(nil, served[pod], 30*time.Second)
	}
	old := s.caBundle()[0]
	pods := s.createPods(50, time.Second)

	began := time.Now()
	s.must(kubectl("", "-n", system, "patch", "secret", "ullage-injector-certificate", "--type=json", "--patch", `[{"op": "remove", "path": "/data"}]`))
	s.eventually(time.Minute, "a new CA before the old one", func() bool {
		now := s.caBundle()
		return !now[0].Equal(old) && slices.ContainsFunc(now, old.Equal)
	})
	trusted := time.Since(began)
	roots := x509.NewCertPool()
	roots.AddCert(s.caBundle()[0])
	for pod, certificate := range served {
		now := s.otherThan(first[pod], certificate, 3*time.Minute)
		if _, err := now.Verify(x509.VerifyOptions{DNSName: "ullage-injector." + system + ".svc", Roots: roots}); err != nil {
			t.Errorf("the certificate of %s is not the new CA's: %v", pod, err)
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

// caBundle returns the CAs that API servers trust the injector with.
func (s *space) caBundle() []*x509.Certificate {
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
func (s *space) otherThan(earlier *x509.Certificate, certificate func() *x509.Certificate, within time.Duration) *x509.Certificate {
	s.Helper()
	var now *x509.Certificate
	s.eventually(within, "a new certificate of an injector", func() bool {
		now = certificate()
		return now != nil && !now.Equal(earlier)
	})
	return now
}

// certificateOf returns what asks an injector for the certificate that it
// serves with at the moment. Nil: it could not be asked.
func (s *space) certificateOf(pod string) func() *x509.Certificate {
	s.Helper()
	address := s.forward(system, "pod/"+pod, 9443)
	return func() *x509.Certificate {
		dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: 10 * time.Second}, Config: &tls.Config{InsecureSkipVerify: true}}
		conn, err := dialer.DialContext(s.Context(), "tcp", address)
		if err != nil {
			return nil
		}
		defer conn.Close()
		return conn.(*tls.Conn).ConnectionState().PeerCertificates[0]
	}
}

// forward returns a local address at which a port of an object is reached, until
// the test's end.
func (s *space) forward(namespace, object string, port int) string {
	s.Helper()
	cmd := exec.Command("kubectl", "-n", namespace, "port-forward", object, fmt.Sprintf(":%d", port))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.Fatalf("forward a port of %s: %v", object, err)
	}
	s.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	// Forwarding from 127.0.0.1:41523 -> 9443
	_, rest, _ := strings.Cut(line, " from ")
	address, _, ok := strings.Cut(rest, " -> ")
	if !ok {
		s.Fatalf("forward a port of %s: kubectl says %q: %v", object, line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // ends with kubectl
	return address
}
