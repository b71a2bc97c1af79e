package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"github.com/ullage/ullage/internal/sink/address"
)

// Trust names the authorities that a sink trusts, and its own certificate. A system without
// certificates, such as our image, trusts the public authorities; see [systemRoots].
type Trust address.Files

// TrustOf returns the Trust for the files that a sink's URL names. It reads the files, so that a
// wrong file is reported at the start. A file that does not exist is no error, because the Secret
// that holds it may be created later: connections fail until then.
func TrustOf(files address.Files) (Trust, error) {
	t := Trust(files)
	if _, err := t.Config(""); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return t, err
	}
	return t, nil
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

// DialTLS returns a function that opens TLS connections. It reads the files for each
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
