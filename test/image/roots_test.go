package image

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/ullage/ullage/test/lab"
)

const stsHost = "sts.eu-central-1.amazonaws.com"

// server is the other end of a sink. No public authority has signed its certificate.
type server struct {
	sink    string // its URL, without ca
	env     []string
	arrived func() bool // a request with a line, over TLS
}

// servers returns a server for each scheme that uses TLS, and for the service that issues keys for a pod's role.
var servers = map[string]func(t *testing.T, pair tls.Certificate) server{
	"otlp": func(t *testing.T, pair tls.Certificate) server {
		host, arrived := web(t, pair, nil)
		return server{sink: "otlp+https://" + host + "/v1/logs?", arrived: arrived}
	},
	"s3": func(t *testing.T, pair tls.Certificate) server {
		host, arrived := web(t, pair, nil)
		return server{sink: "s3://logs/prod?region=eu-central-1&path-style=true&credentials=none&endpoint=https://" + host, arrived: arrived}
	},
	"kafka": broker,
	"sts":   roles,
}

// web starts a web server with TLS. arrived reports whether it has received a request.
func web(t *testing.T, pair tls.Certificate, handler http.HandlerFunc) (host string, arrived func() bool) {
	t.Helper()
	var had atomic.Bool
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		had.Store(true)
		if handler != nil {
			handler(w, r)
		}
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it would report each failed handshake
	s.StartTLS()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.Listener.Addr().String(), had.Load
}

// broker is a Kafka server that records that records were produced.
func broker(t *testing.T, pair tls.Certificate) server {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "lines"), kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	var had atomic.Bool
	cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		had.Store(true)
		return nil, nil, false
	})
	return server{sink: "kafka://" + strings.Join(cluster.ListenAddrs(), ",") + "/lines?tls=true", arrived: had.Load}
}

// roles is Amazon's service of roles, from which a sidecar with a web identity requests keys. It is reached through a
// proxy, since no server here can have its host name; the bucket uses plain HTTP.
func roles(t *testing.T, pair tls.Certificate) server {
	t.Helper()
	service, arrived := web(t, pair, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>a</AccessKeyId>`+
			`<SecretAccessKey>b</SecretAccessKey><SessionToken>c</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials>`+
			`</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`)
	})
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != stsHost+":443" {
			t.Errorf("the proxy got the request %s %s, want %s %s:443", r.Method, r.Host, http.MethodConnect, stsHost)
			w.WriteHeader(http.StatusForbidden)
			return
		}
		there, err := net.Dial("tcp", service)
		if err != nil {
			t.Error(err)
			return
		}
		defer there.Close()
		w.WriteHeader(http.StatusOK)
		here, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer here.Close()
		var both sync.WaitGroup
		both.Go(func() { _, _ = io.Copy(there, here); _ = there.(*net.TCPConn).CloseWrite() })
		both.Go(func() { _, _ = io.Copy(here, there); _ = here.Close() })
		both.Wait()
	}))
	t.Cleanup(func() { proxy.CloseClientConnections(); proxy.Close() })
	var signed atomic.Bool
	bucket := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		signed.Store(signed.Load() || r.Header.Get("X-Amz-Security-Token") == "c")
		w.Header().Set("ETag", `"x"`)
	}))
	t.Cleanup(func() { bucket.CloseClientConnections(); bucket.Close() })
	return server{sink: "s3://logs/prod?region=eu-central-1&path-style=true&credentials=role&endpoint=" + bucket.URL,
		env:     []string{"HTTPS_PROXY=" + proxy.URL, "AWS_WEB_IDENTITY_TOKEN_FILE=/token", "AWS_ROLE_ARN=arn:aws:iam::1:role/logs"},
		arrived: func() bool { return arrived() && signed.Load() }}
}

// A sink in the image trusts an authority that only the node's store has, however that store gets into the container,
// and an authority that the sink's option ca names. Otherwise the sink trusts only the public authorities.
func TestSinksTrustTheSystemsStoreInTheImage(t *testing.T) {
	for name, serve := range servers {
		t.Run(name, func(t *testing.T) {
			cert, key := lab.Certificate(t, "127.0.0.1", stsHost)
			pair, err := tls.LoadX509KeyPair(cert, key)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				name, store, env, option string
				trusted                  bool
			}{
				{name: "no store"},
				{name: "a store at /etc/ssl/certs", store: "/etc/ssl/certs/ca-certificates.crt", trusted: true},
				{name: "SSL_CERT_FILE", store: "/node/ca.crt", env: "SSL_CERT_FILE=/node/ca.crt", trusted: true},
				{name: "option ca", store: "/etc/ullage-sinks/ca.crt", option: "&ca=/etc/ullage-sinks/ca.crt", trusted: true},
			} {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					pod, other := newContainer(t), serve(t, pair)
					pod.writes("token", "of the pod")
					if c.store != "" {
						pod.copies(cert, c.store)
					}
					if pod.env = other.env; c.env != "" {
						pod.env = append(pod.env, c.env)
					}
					if c.trusted {
						pod.runs(other.sink+c.option, func(string) bool { return other.arrived() })
						return
					}
					pod.runs(other.sink, has("certificate signed by unknown authority", "credentials cannot be read"))
					if other.arrived() {
						t.Error("the server got a request although nothing trusts its certificate, want none")
					}
				})
			}
		})
	}
}

// A store that is named but missing is an error. The public authorities do not replace the authorities that an
// operator has selected.
func TestASelectedStoreThatIsMissingInTheImage(t *testing.T) {
	pod := newContainer(t)
	pod.env = []string{"SSL_CERT_FILE=/node/misspelt.crt"}
	pod.fails("otlp+https://127.0.0.1:1/v1/logs", "SSL_CERT_FILE=/node/misspelt.crt holds no certificate")
}

// The image contains the public authorities, among them those of Amazon and of Let's Encrypt. No server here has a
// certificate that one of them signed, so the test looks for their own certificates in the program.
func TestTheImageHasPublicAuthorities(t *testing.T) {
	image, err := unpacked()
	if err != nil {
		t.Fatalf("%v: %s", err, image)
	}
	program, err := os.ReadFile(filepath.Join(image, "usr/local/bin/ullage"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		found[cert.Subject.CommonName] = bytes.Contains(program, root.Certificate)
	}
	for _, name := range []string{"Amazon Root CA 1", "ISRG Root X1", "GTS Root R1", "DigiCert Global Root G2"} {
		if !found[name] {
			t.Errorf("%s is not in the image, want it, as one of the %d authorities of the bundle", name, len(found))
		}
	}
}
