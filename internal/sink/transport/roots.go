package transport

import (
	"crypto/x509"
	"fmt"
	"os"
	"sync"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// systemRoots returns a copy of the system's certificates. Where the system has none, as
// in our image, which consists of the program alone, it returns the public ones that
// are built in. A store that exists always wins: one that is mounted into the image at
// /etc/ssl/certs, or that SSL_CERT_FILE or SSL_CERT_DIR names. If those variables name
// nothing readable, the result is an error: an operator who narrows what is trusted must
// not get every public authority because of a typing error.
func systemRoots() (*x509.CertPool, error) {
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("load the system's certificates: %w", err)
	}
	return orPublic(roots)
}

// orPublic returns roots, or the public certificates if roots is empty.
func orPublic(roots *x509.CertPool) (*x509.CertPool, error) {
	if !roots.Equal(x509.NewCertPool()) {
		return roots, nil
	}
	for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if path := os.Getenv(name); path != "" {
			return nil, fmt.Errorf("load the system's certificates: %s=%s holds no certificate", name, path)
		}
	}
	return publicRoots().Clone(), nil
}

// publicRoots are the authorities that Mozilla trusts, parsed when a sink first needs
// them: a sidecar without such a sink pays neither their memory nor the time.
var publicRoots = sync.OnceValue(func() *x509.CertPool {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		switch {
		case err != nil: // a parser that no longer accepts one authority still has the others
		case root.Constraint != nil:
			pool.AddCertWithConstraint(cert, root.Constraint)
		default:
			pool.AddCert(cert)
		}
	}
	return pool
})
