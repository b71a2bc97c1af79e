package transport

import (
	"crypto/x509"
	"fmt"
	"os"
	"sync"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// systemRoots returns a copy of the system's certificates. If the system has none, it returns
// the public certificates that are built into the program, because our image consists only of
// the program. An existing store always takes precedence, whether it is mounted at
// /etc/ssl/certs or named by SSL_CERT_FILE or SSL_CERT_DIR. If those variables name nothing
// readable, systemRoots fails: an operator who trusts only some authorities must not end up
// with all public authorities because of a typing error.
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

// publicRoots returns the authorities that Mozilla trusts, parsed when a sink first needs them: a
// sidecar without such a sink spends no memory or time on them.
var publicRoots = sync.OnceValue(func() *x509.CertPool {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		switch {
		case err != nil: // if the parser no longer accepts one authority, the others are still trusted
		case root.Constraint != nil:
			pool.AddCertWithConstraint(cert, root.Constraint)
		default:
			pool.AddCert(cert)
		}
	}
	return pool
})
