package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWhatTheAPIRefusesIsToldWithItsRemedy(t *testing.T) {
	for _, c := range []struct {
		what  string
		code  int
		says  string
		ready bool // whether a replica that was ready stays ready
		fresh bool // whether a new replica becomes ready
	}{
		{"GET " + secretPath, 403, `(refused with 403): the service account needs a role that allows "get" on "secrets"`, true, false},
		{"GET " + secretPath, 404, "the object must exist", true, false},
		{"GET " + secretPath, 401, "token", true, false},
		{"GET " + secretPath, 500, "the API answered 500", true, false},
		{"GET " + secretPath, 307, "the API answered 307", true, false},
		{"PUT " + secretPath, 403, `allows "update" on "secrets"`, true, true},
		{"GET " + configPath, 403, `allows "get" on "mutatingwebhookconfigurations"`, true, false},
		{"GET " + configPath, 404, "the object must exist", true, false},
		{"PATCH " + configPath, 403, `allows "patch" on "mutatingwebhookconfigurations"`, true, true},
		{"PUT " + secretPath, 409, "in a row", true, false},
		{"PATCH " + configPath, 422, "in a row", true, false},
	} {
		t.Run(fmt.Sprint(c.what, c.code), func(t *testing.T) {
			f, clock := newFakeAPI(t), newClock()
			r := newReplica(t, f, clock)
			r.mustLook(t)
			// A renewal is due, and one caBundle has an extra suffix.
			clock.add(61 * 24 * time.Hour)
			f.put(configPath, strings.ReplaceAll(testConfiguration, "bm9uc2Vuc2U=", base64.StdEncoding.EncodeToString([]byte(f.bundles()[0]+"more"))))
			f.setFail(c.what, c.code)
			err := r.look(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want %q", err, c.says)
			}
			if (r.trusted() == nil) != c.ready {
				t.Errorf("the running replica: the error of trusted is %v, want it ready: %t", r.trusted(), c.ready)
			}
			other := newReplica(t, f, clock)
			if err := other.look(t.Context()); (other.trusted() == nil) != c.fresh {
				t.Errorf("a new replica: the error of trusted is %v, that of look %v; want it ready: %t", other.trusted(), err, c.fresh)
			}
		})
	}
}

func TestAnAPIThatAnswersNonsense(t *testing.T) {
	for name, answer := range map[string]string{
		"nothing": "", "no JSON": "<html>", "null": "null", "a list": "[]", "no version": `{"metadata":{}}`, "a wrong version": `{"metadata":{"resourceVersion":7}}`,
		"bad data": `{"metadata":{"resourceVersion":"1"},"data":{"ca.crt":"!"}}`, "too much": strings.Repeat(" ", 4<<20) + "{}", "webhooks that are texts": `{"metadata":{"resourceVersion":"1"},"webhooks":"x"}`,
	} {
		f, c := newFakeAPI(t), newClock()
		f.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) })
		r := newReplica(t, f, c)
		if err := r.look(t.Context()); err == nil || r.trusted() == nil {
			t.Errorf("%s: the error of look is %v, that of trusted %v; want an error of each", name, err, r.trusted())
		}
	}
}

func TestTheTokenIsReadAgainAndGoesNowhereElse(t *testing.T) {
	f, c := newFakeAPI(t), newClock()
	r := newReplica(t, f, c)
	write(t, f.cluster.TokenFile, []byte("old"))
	if err := r.look(t.Context()); err == nil || !strings.Contains(err.Error(), "is the service account's token mounted and valid?") {
		t.Errorf(`the error is %v, want "is the service account's token mounted and valid?" in it`, err)
	}
	write(t, f.cluster.TokenFile, []byte(testToken))
	r.mustLook(t)
	if err := os.Remove(f.cluster.TokenFile); err != nil {
		t.Fatal(err)
	}
	if err := r.look(t.Context()); err == nil || !strings.Contains(err.Error(), "read the service account's token") {
		t.Errorf(`the error is %v, want "read the service account's token" in it`, err)
	}
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the client sent a request to an unknown server") }))
	defer elsewhere.Close()
	elsewhere.Config.ErrorLog = newQuietLog()
	u, err := url.Parse(elsewhere.URL)
	if err != nil {
		t.Fatal(err)
	}
	write(t, f.cluster.TokenFile, []byte(testToken))
	cluster := f.cluster
	cluster.Host, cluster.Port, cluster.CAFile = u.Hostname(), u.Port(), filepath.Join(t.TempDir(), "ca.crt")
	write(t, cluster.CAFile, []byte(otherCA(t)))
	r = newReplica(t, &fakeAPI{cluster: cluster}, newClock())
	if err := r.look(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf(`the error is %v, want "certificate" in it`, err)
	}
}

// A cluster's CA is replaced while the injector runs: the kubelet delivers the new CA, and the API servers use it.
func TestTheCAOfTheAPIIsReadAgainWhenItDoesNotVouchForTheServer(t *testing.T) {
	f := newFakeAPI(t)
	right, err := os.ReadFile(f.cluster.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	write(t, f.cluster.CAFile, []byte(otherCA(t)))
	r := newReplica(t, f, newClock())
	if err := r.look(t.Context()); err == nil || !strings.Contains(err.Error(), "x509") {
		t.Fatalf(`with another CA: %v, want "x509" in it`, err)
	}
	write(t, f.cluster.CAFile, []byte("nonsense"))
	if err := r.look(t.Context()); err == nil || !strings.Contains(err.Error(), "has no certificate") {
		t.Errorf(`with a file that is not a CA: %v, want "has no certificate" in it`, err)
	}
	write(t, f.cluster.CAFile, right)
	r.mustLook(t)
}

// otherCA returns a CA certificate that did not sign any server's certificate.
func otherCA(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "other"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
