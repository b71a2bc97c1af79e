package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"
)

func testCA(t *testing.T, expiry time.Time) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: expiry}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func TestDoctorJudgesTheCABundle(t *testing.T) {
	good, old := testCA(t, time.Now().Add(time.Hour)), testCA(t, time.Now().Add(-time.Hour))
	for _, c := range []struct{ name, bundle, want string }{
		{"current", good, ""},
		{"an expired CA as well", old + good, ""},
		{"expired", old, "expired on"},
		{"empty", "", "has no CA"},
		{"garbage", "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n", "has no CA"},
	} {
		var h hook
		h.ClientConfig.CABundle = []byte(c.bundle)
		found := hookConfig{Webhooks: []hook{h}}.bundle()
		if (c.want == "") != (len(found) == 0) || len(found) > 0 && (found[0].mark != markProblem || !strings.Contains(found[0].text, c.want)) {
			t.Errorf("%s: the findings are %+v, want a problem with %q in its text, or no finding if the text is empty", c.name, found, c.want)
		}
	}
}

// The doctor evaluates selectors as an API server does.
func TestLabelSelectors(t *testing.T) {
	for _, c := range []struct {
		selector string
		labels   map[string]string
		want     bool
	}{
		{`{}`, nil, true},
		{`{"matchLabels":{"a":"b"}}`, map[string]string{"a": "b"}, true},
		{`{"matchLabels":{"a":""}}`, nil, false},
		{`{"matchExpressions":[{"key":"a","operator":"In","values":["b"]}]}`, map[string]string{"a": "c"}, false},
		{`{"matchExpressions":[{"key":"a","operator":"NotIn","values":["b"]}]}`, map[string]string{"a": "b"}, false},
		{`{"matchExpressions":[{"key":"a","operator":"NotIn","values":[""]}]}`, nil, true},
		{`{"matchExpressions":[{"key":"a","operator":"Exists"}]}`, nil, false},
		{`{"matchExpressions":[{"key":"a","operator":"DoesNotExist"}]}`, map[string]string{"a": ""}, false},
	} {
		var s labelSelector
		if err := json.Unmarshal([]byte(c.selector), &s); err != nil {
			t.Fatal(err)
		}
		if got := s.matches(c.labels); got != c.want {
			t.Errorf("the selector %s matches %v: %v, want %v", c.selector, c.labels, got, c.want)
		}
	}
}
