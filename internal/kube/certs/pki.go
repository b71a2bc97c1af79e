package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"
)

// The keys of the Secret. ca.key belongs to the first CA in ca.crt, which signs
// the next serving certificate. The other CAs are trusted until they are retired.
const (
	caCertKey  = "ca.crt"
	caKeyKey   = "ca.key"
	tlsCertKey = "tls.crt"
	tlsKeyKey  = "tls.key"
)

const (
	// skew is how far the clocks of a cluster may differ. The validity of a certificate begins that
	// long before its creation.
	skew = time.Hour

	// maxCAs bounds ca.crt. A rollover needs two.
	maxCAs = 4

	// caLives is the life of a CA, in lives of a serving certificate. Both are
	// renewed after two thirds of their life, so no certificate outlives its CA.
	caLives = 4
)

// material is the content of the Secret. Parts that are missing, unusable or
// expired are nil.
type material struct {
	cas  []*x509.Certificate // newest first
	key  *ecdsa.PrivateKey   // of cas[0]
	leaf *tls.Certificate    // signed by one of cas, for all names; its Leaf is set
}

// parseMaterial reads the data of a Secret, which is untrusted. The error says what is
// unusable; the usable parts are returned with it. A Secret without our keys is not an error. A
// certificate that is not valid yet was made by a replica whose clock is ahead. It is not
// replaced, because two replicas whose clocks differ would replace each other's certificate
// again and again.
func parseMaterial(data map[string][]byte, names []string, now time.Time) (material, error) {
	if len(data[caCertKey])+len(data[caKeyKey])+len(data[tlsCertKey])+len(data[tlsKeyKey]) == 0 {
		return material{}, nil
	}
	cas, err := parseCAs(data[caCertKey])
	if err != nil {
		return material{}, fmt.Errorf("%s: %w", caCertKey, err)
	}
	var m material
	var bad []error
	if m.key, err = parseKey(data[caKeyKey], cas[0]); err != nil {
		bad = append(bad, fmt.Errorf("%s: %w", caKeyKey, err))
	}
	if now.After(cas[0].NotAfter) {
		m.key = nil
	}
	m.cas = slices.DeleteFunc(cas, func(ca *x509.Certificate) bool { return now.After(ca.NotAfter) })
	leaf, err := tls.X509KeyPair(data[tlsCertKey], data[tlsKeyKey])
	if err == nil {
		err = m.verify(&leaf, names, now)
	}
	if err != nil {
		return m, errors.Join(append(bad, fmt.Errorf("%s and %s: %w", tlsCertKey, tlsKeyKey, err))...)
	}
	m.leaf = &leaf
	return m, errors.Join(bad...)
}

func parseCAs(text []byte) ([]*x509.Certificate, error) {
	var cas []*x509.Certificate
	for len(cas) < maxCAs {
		var block *pem.Block
		block, text = pem.Decode(text)
		if block == nil {
			break
		}
		ca, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read a certificate: %w", err)
		}
		if !ca.IsCA || !ca.BasicConstraintsValid {
			return nil, errors.New("one of the certificates is not a CA")
		}
		cas = append(cas, ca)
	}
	if len(cas) == 0 {
		return nil, errors.New("no certificate found")
	}
	return cas, nil
}

func parseKey(text []byte, ca *x509.Certificate) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("no key found")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read the key: %w", err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || !key.PublicKey.Equal(ca.PublicKey) {
		return nil, errors.New("it is not the key of the first CA")
	}
	return key, nil
}

// verify checks a serving certificate as an API server does.
func (m material) verify(c *tls.Certificate, names []string, now time.Time) error {
	roots := x509.NewCertPool()
	at := now
	for _, cert := range append([]*x509.Certificate{c.Leaf}, m.cas...) {
		if cert.NotBefore.After(at) {
			at = cert.NotBefore
		}
	}
	for _, ca := range m.cas {
		roots.AddCert(ca)
	}
	if _, err := c.Leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: at}); err != nil {
		return err
	}
	for _, name := range names {
		if err := c.Leaf.VerifyHostname(name); err != nil {
			return err
		}
	}
	return nil
}

// rotate puts a new CA in front. The new CA has not signed a certificate yet.
func (m *material) rotate(now time.Time, life time.Duration) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "ullage-injector CA"},
		NotBefore:             now.Add(-skew),
		NotAfter:              now.Add(life),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return fmt.Errorf("make a CA: %w", err)
	}
	ca, err := x509.ParseCertificate(der)
	if err != nil {
		return fmt.Errorf("make a CA: %w", err)
	}
	cas := append([]*x509.Certificate{ca}, m.cas...)
	m.cas, m.key = cas[:min(len(cas), maxCAs)], key
	return nil
}

// issue makes a serving certificate, signed by the first CA.
func (m *material) issue(names []string, now time.Time, life time.Duration) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	end := now.Add(life)
	if ca := m.cas[0].NotAfter; end.After(ca) {
		end = ca // the CA was created when --certificate-lifetime was shorter
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "ullage-injector"},
		NotBefore:   now.Add(-skew),
		NotAfter:    end,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    names,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, m.cas[0], key.Public(), m.key)
	if err != nil {
		return fmt.Errorf("make a serving certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return fmt.Errorf("make a serving certificate: %w", err)
	}
	m.leaf = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
	return nil
}

// current reports whether the first CA signed the serving certificate.
func (m material) current() bool { return m.leaf.Leaf.CheckSignatureFrom(m.cas[0]) == nil }

// trustFirst adds cas, one of which signed the serving certificate. The CA that signs the next
// certificate stays first, and the signer comes second. The list is shortened so that there is
// room for one more CA in front.
func (m *material) trustFirst(cas []*x509.Certificate) {
	signer := slices.IndexFunc(cas, func(ca *x509.Certificate) bool { return m.leaf.Leaf.CheckSignatureFrom(ca) == nil })
	var all []*x509.Certificate
	if m.key != nil {
		all = append(all, m.cas[0])
	}
	all = append(all, cas[signer])
	for _, ca := range slices.Concat(cas, m.cas) {
		if !slices.ContainsFunc(all, ca.Equal) {
			all = append(all, ca)
		}
	}
	m.cas = all[:min(len(all), maxCAs-1)]
}

// bundle returns the CAs as PEM.
func (m material) bundle() []byte {
	var out bytes.Buffer
	for _, ca := range m.cas {
		_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw}) // a write to memory cannot fail
	}
	return out.Bytes()
}

// encode returns the data of the Secret, for material without nil parts.
func (m material) encode() (map[string][]byte, error) {
	caKey, err := x509.MarshalPKCS8PrivateKey(m.key)
	if err != nil {
		return nil, fmt.Errorf("encode the CA's key: %w", err)
	}
	tlsKey, err := x509.MarshalPKCS8PrivateKey(m.leaf.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("encode the serving key: %w", err)
	}
	return map[string][]byte{
		caCertKey:  m.bundle(),
		caKeyKey:   pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: caKey}),
		tlsCertKey: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: m.leaf.Certificate[0]}),
		tlsKeyKey:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: tlsKey}),
	}, nil
}

// spent reports whether num/den of the certificate's life is over. The life is
// the certificate's own or that of a new certificate, whichever is shorter.
func spent(c *x509.Certificate, life time.Duration, num, den int64, now time.Time) bool {
	made := c.NotBefore.Add(skew)
	life = min(life, c.NotAfter.Sub(made))
	return !now.Before(made.Add(time.Duration(int64(life) / den * num)))
}
