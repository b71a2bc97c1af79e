package sinks

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// identity is a directory with a certificate for 127.0.0.1, and its key.
type identity struct {
	testing.TB
	dir string
}

func (g identity) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// certificate creates a certificate that is its own CA, or renews it with the same key.
func (g identity) certificate(until time.Time) {
	g.Helper()
	keyPath := filepath.Join(g.dir, "key.pem")
	key := g.key(keyPath)
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "gateway"},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: until, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	g.must(err)
	g.must(os.WriteFile(g.ca(), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644))
}

// key returns the key in a file, which it creates if necessary.
func (g identity) key(path string) *ecdsa.PrivateKey {
	g.Helper()
	if text, err := os.ReadFile(path); err == nil {
		block, _ := pem.Decode(text)
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		g.must(err)
		return key.(*ecdsa.PrivateKey)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.must(err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	g.must(err)
	g.must(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
	return key
}

func (g identity) ca() string { return filepath.Join(g.dir, "cert.pem") }

func (g identity) files() lab.Identity {
	return lab.Identity{Cert: g.ca(), Key: filepath.Join(g.dir, "key.pem")}
}

// pair returns the certificate with its key, for a server within the test.
func (g identity) pair() tls.Certificate {
	g.Helper()
	pair, err := tls.LoadX509KeyPair(g.ca(), filepath.Join(g.dir, "key.pem"))
	g.must(err)
	return pair
}

// fetched returns [lab.Jars] for test/servers/NAME.
func fetched(t testing.TB, name string) string {
	t.Helper()
	from, err := filepath.Abs(filepath.Join("../servers", name))
	if err != nil {
		t.Fatal(err)
	}
	jars, err := lab.Jars(from, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	return jars
}
