package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/printable"
)

// serviceAccount is where a kubelet puts a pod's credentials.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/"

// Cluster is how a pod reaches the API of its cluster.
type Cluster struct {
	Host, Port string // empty: there is no cluster

	// TokenFile has the service account's token. It is read for each request,
	// since the token changes every hour. CAFile has the API server's CA.
	TokenFile, CAFile string
}

// InCluster returns how the pod that this process runs in reaches the API, from
// the environment, which lookup reads (os.LookupEnv).
func InCluster(lookup func(string) (string, bool)) Cluster {
	c := Cluster{TokenFile: serviceAccount + "token", CAFile: serviceAccount + "ca.crt"}
	c.Host, _ = lookup("KUBERNETES_SERVICE_HOST")
	c.Port, _ = lookup("KUBERNETES_SERVICE_PORT")
	return c
}

// PodNamespace returns the namespace of the pod that this process runs in, or ""
// outside of a pod.
func PodNamespace() string {
	text, err := readFile(serviceAccount + "namespace")
	if err != nil {
		return ""
	}
	return printable.Text(strings.TrimSpace(string(text)), maxName)
}

func (c Cluster) validate() []error {
	if c.Host == "" {
		return []error{errors.New("self-made certificates need the Kubernetes API, and KUBERNETES_SERVICE_HOST is not set: run this in a pod, or give --tls-cert and --tls-key")}
	}
	if _, err := strconv.ParseUint(c.Port, 10, 16); err != nil {
		return []error{fmt.Errorf("invalid value %q for KUBERNETES_SERVICE_PORT: it is not a port", c.Port)}
	}
	return nil
}

const (
	requestTimeout = 10 * time.Second
	// maxObject is larger than any object: etcd takes 1.5 MiB by default.
	maxObject = 4 << 20
	maxStatus = 64 << 10

	// Bounds on what is logged or reported of what another server or a file says.
	maxText = 1024
	maxName = 253
)

// operation is a kind of request: its name in the metric, and the verb and the
// resource that the service account's role must allow.
type operation struct{ name, method, verb, resource string }

// The four kinds of requests. A role limits each to one object by resourceNames.
var (
	getSecret          = operation{"get_secret", http.MethodGet, "get", "secrets"}
	updateSecret       = operation{"update_secret", http.MethodPut, "update", "secrets"}
	getConfiguration   = operation{"get_webhook_configuration", http.MethodGet, "get", "mutatingwebhookconfigurations"}
	patchConfiguration = operation{"patch_webhook_configuration", http.MethodPatch, "patch", "mutatingwebhookconfigurations"}
)

// operations are the label values of the metric.
var operations = []string{getSecret.name, updateSecret.name, getConfiguration.name, patchConfiguration.name}

// errConflict means that the object was changed after it was read.
var errConflict = errors.New("the object was changed since it was read")

// statusError is an answer of the API other than success.
type statusError struct {
	op      operation
	path    string
	code    int
	message string // of the API
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("%s %s: the API answered %d", e.op.verb, e.path, e.code)
	if e.message != "" {
		text += " (" + e.message + ")"
	}
	switch e.code {
	case http.StatusUnauthorized:
		text += ": is the service account's token mounted and valid?"
	case http.StatusForbidden:
		text += fmt.Sprintf(": the service account needs a role that allows %q on %q", e.op.verb, e.op.resource)
	case http.StatusNotFound:
		text += ": the object must exist; the Helm chart creates it"
	}
	return text
}

// Is makes an error an errConflict if the object is not the one that was read.
// The API answers 409 to an older resourceVersion, and 422 to a JSON patch whose
// test fails (k8s.io/apiserver/pkg/endpoints/handlers/patch.go).
func (e *statusError) Is(target error) bool {
	return target == errConflict &&
		(e.code == http.StatusConflict || e.code == http.StatusUnprocessableEntity && e.op == patchConfiguration)
}

// client sends requests to the API. It is not safe for concurrent use.
type client struct {
	base    string
	cluster Cluster
	ca      []byte // what CAFile had when http was made
	http    *http.Client
	metrics metrics
}

func newClient(c Cluster, m metrics) (*client, error) {
	api := &client{base: "https://" + net.JoinHostPort(c.Host, c.Port), cluster: c, metrics: m}
	_, err := api.trust()
	return api, err
}

// trust reads the CA of the API, and reports whether it is another than before.
func (c *client) trust() (changed bool, err error) {
	ca, err := readFile(c.cluster.CAFile)
	if err != nil {
		return false, fmt.Errorf("read the CA of the Kubernetes API: %w (is automountServiceAccountToken off?)", err)
	}
	if bytes.Equal(ca, c.ca) {
		return false, nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return false, fmt.Errorf("read the CA of the Kubernetes API: %s has no certificate", c.cluster.CAFile)
	}
	if c.http != nil {
		c.http.CloseIdleConnections()
	}
	c.ca, c.http = ca, &http.Client{
		Timeout: requestTimeout,
		// No proxy: the API is in the cluster's own network.
		Transport: &http.Transport{
			TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    requestTimeout,
			IdleConnTimeout:        requestTimeout, // so that the next look does not reuse a dead server's connection
			MaxResponseHeaderBytes: maxStatus,
		},
		// A redirect must not carry the token to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return true, nil
}

// do sends in, which may be nil, and decodes the answer into out. It counts
// failures, but not conflicts. A server that the CA does not vouch for has got
// another CA, if the kubelet has delivered one since.
func (c *client) do(ctx context.Context, op operation, path, contentType string, in []byte, out any) error {
	err := c.try(ctx, op, path, contentType, in, out)
	if untrusted := new(tls.CertificateVerificationError); errors.As(err, &untrusted) {
		if changed, trustErr := c.trust(); trustErr != nil {
			err = errors.Join(err, trustErr)
		} else if changed {
			err = c.try(ctx, op, path, contentType, in, out)
		}
	}
	if err != nil && !errors.Is(err, errConflict) && ctx.Err() == nil {
		c.metrics.apiErrors.WithLabelValues(op.name).Inc()
	}
	return err
}

func (c *client) try(ctx context.Context, op operation, path, contentType string, in []byte, out any) error {
	token, err := readFile(c.cluster.TokenFile)
	if err != nil {
		return fmt.Errorf("read the service account's token: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, op.method, c.base+path, bytes.NewReader(in))
	if err != nil {
		return fmt.Errorf("%s %s: %w", op.verb, path, err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "ullage-injector")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s %s: %w", op.verb, path, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return refused(op, path, resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxObject+1))
	if err != nil {
		return fmt.Errorf("%s %s: receive the answer: %w", op.verb, path, err)
	}
	if len(body) > maxObject {
		return fmt.Errorf("%s %s: the answer is larger than %d MiB", op.verb, path, maxObject>>20)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", op.verb, path, err)
	}
	return nil
}

// refused makes an error of an answer, with the API's message.
func refused(op operation, path string, resp *http.Response) error {
	var status struct {
		Message string `json:"message"`
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxStatus))
	_ = json.Unmarshal(body, &status) // a proxy in between may answer anything: no message then
	return &statusError{op: op, path: path, code: resp.StatusCode, message: printable.Text(status.Message, maxText)}
}
