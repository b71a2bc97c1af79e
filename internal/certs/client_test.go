package certs

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

func TestWhatTheAPIRefusesIsToldWithItsRemedy(t *testing.T) {
	for _, c := range []struct {
		what  string
		code  int
		says  string
		ready bool // a replica that was ready before stays so
		fresh bool // one that starts becomes so
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
			// A renewal is due, and a caBundle that holds more than it should.
			clock.add(61 * 24 * time.Hour)
			f.put(configPath, strings.ReplaceAll(testConfiguration, "bm9uc2Vuc2U=", base64.StdEncoding.EncodeToString([]byte(f.bundles()[0]+"more"))))
			f.setFail(c.what, c.code)
			err := r.look(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want %q", err, c.says)
			}
			if (r.trusted() == nil) != c.ready {
				t.Errorf("trusted %v", r.trusted())
			}
			other := newReplica(t, f, clock)
			if err := other.look(t.Context()); (other.trusted() == nil) != c.fresh {
				t.Errorf("a new replica: trusted %v after %v", other.trusted(), err)
			}
		})
	}
}

func TestAnAPIThatAnswersNonsense(t *testing.T) {
	for name, answer := range map[string]string{
		"nothing": "", "no JSON": "<html>", "null": "null", "a list": "[]", "no version": `{"metadata":{}}`, "a wrong version": `{"metadata":{"resourceVersion":7}}`,
		"bad data": `{"metadata":{"resourceVersion":"1"},"data":{"ca.crt":"!"}}`, "too much": strings.Repeat(" ", maxObject) + "{}", "webhooks that are texts": `{"metadata":{"resourceVersion":"1"},"webhooks":"x"}`,
	} {
		f, c := newFakeAPI(t), newClock()
		f.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) })
		r := newReplica(t, f, c)
		if err := r.look(t.Context()); err == nil || r.trusted() == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheTokenIsReadAgainAndGoesNowhereElse(t *testing.T) {
	f, c := newFakeAPI(t), newClock()
	r := newReplica(t, f, c)
	write(t, f.cluster.TokenFile, []byte("old"))
	if err := r.look(t.Context()); err == nil || !strings.Contains(err.Error(), "is the service account's token mounted and valid?") {
		t.Errorf("error %v", err)
	}
	write(t, f.cluster.TokenFile, []byte(testToken))
	r.mustLook(t)
	if err := os.Remove(f.cluster.TokenFile); err != nil {
		t.Fatal(err)
	}
	if err := r.look(t.Context()); err == nil || !strings.Contains(err.Error(), "read the service account's token") {
		t.Errorf("error %v", err)
	}
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("an unknown server is asked") }))
	defer elsewhere.Close()
	elsewhere.Config.ErrorLog = newQuietLog()
	r.api.base = elsewhere.URL
	r.api.http.Transport.(*http.Transport).TLSClientConfig.RootCAs = x509.NewCertPool()
	write(t, f.cluster.TokenFile, []byte(testToken))
	if err := r.look(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("error %v", err)
	}
}
