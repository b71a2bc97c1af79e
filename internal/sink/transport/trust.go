package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/ullage/ullage/internal/sink"
)

// Trust names the authorities that a sink trusts, and its own certificate, as files in PEM.
// The zero value trusts the system's authorities and presents no certificate. A system
// without certificates, such as our image, trusts the public ones: see [systemRoots].
type Trust struct {
	CA   string // trusted as well as the system's certificates
	Cert string // of the client; set together with Key
	Key  string
}

// TrustOf reads the options ca, cert and key of a sink's URL, and the files that they name, so
// that a wrong file is reported at the start.
func TrustOf(o *sink.Options) (Trust, error) {
	t := Trust{
		CA:   o.Text("ca", "", "a file with certificates to trust as well as the system's, for all that the sink connects to; read for each connection"),
		Cert: o.Text("cert", "", "a file with the certificate that the sidecar presents; read for each connection"),
		Key:  o.Text("key", "", "a file with the key of the certificate in `cert`")}
	if (t.Cert == "") != (t.Key == "") {
		return t, errors.New("options cert and key go together")
	}
	_, err := t.Config("")
	return t, err
}

// Config returns the settings of one connection to host. It reads the files.
func (t Trust) Config(host string) (*tls.Config, error) {
	roots, err := systemRoots()
	if err != nil {
		return nil, err
	}
	if t.CA != "" {
		text, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("option ca: %w", err)
		}
		if !roots.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("option ca: %s holds no certificate", t.CA)
		}
	}
	c := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12, RootCAs: roots}
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("options cert and key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// DialTLS returns a function that makes TLS connections. It reads the files for each
// connection.
func (t Trust) DialTLS() DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		config, err := t.Config(host)
		if err != nil {
			return nil, err
		}
		plain, err := Dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		c := tls.Client(plain, config)
		ctx, cancel := context.WithTimeout(ctx, ConnectTimeout)
		defer cancel()
		if err := c.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, plain.Close())
		}
		return c, nil
	}
}
