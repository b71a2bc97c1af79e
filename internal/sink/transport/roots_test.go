package transport

import (
	"crypto/x509"
	"errors"
	"testing"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// If the system has no certificates, the public authorities are trusted, among them those of object
// stores and collectors: the certificate of such an authority can be verified.
func TestPublicAuthoritiesWhereTheSystemHasNone(t *testing.T) {
	t.Setenv("SSL_CERT_FILE", "")
	t.Setenv("SSL_CERT_DIR", "")
	roots, err := orPublic(x509.NewCertPool())
	if err != nil {
		t.Fatal(err)
	}
	trusted := map[string]bool{}
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		_, err = cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: cert.NotBefore.AddDate(0, 0, 1)})
		trusted[cert.Subject.CommonName] = err == nil
	}
	for _, name := range []string{"Amazon Root CA 1", "ISRG Root X1", "GTS Root R1", "DigiCert Global Root G2"} {
		if !trusted[name] {
			t.Errorf("%s is not trusted, want it among the %d authorities", name, len(trusted))
		}
	}
}

// The public authorities are not added to a store of the system.
func TestAStoreOfTheSystemIsNotExtended(t *testing.T) {
	var only *x509.Certificate
	var other *x509.Certificate
	for root := range bundle.Roots() {
		only = other
		other, _ = x509.ParseCertificate(root.Certificate)
		if only != nil {
			break
		}
	}
	system := x509.NewCertPool()
	system.AddCert(only)
	roots, err := orPublic(system)
	if err != nil {
		t.Fatal(err)
	}
	_, err = other.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: other.NotBefore.AddDate(0, 0, 1)})
	if unknown := (x509.UnknownAuthorityError{}); !errors.As(err, &unknown) {
		t.Errorf("got %v, want an unknown authority", err)
	}
}

func TestAMissingStoreThatTheEnvironmentNames(t *testing.T) {
	t.Setenv("SSL_CERT_FILE", "/none/ca.crt")
	if _, err := orPublic(x509.NewCertPool()); err == nil {
		t.Error("the public authorities replace the missing store, want an error")
	}
}
