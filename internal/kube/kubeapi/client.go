// Package kubeapi is a client of the Kubernetes API for a pod that needs only a few requests
// and therefore no client library. The sizes of tokens, answers and files are bounded, requests
// have a deadline, and no redirect is followed.
package kubeapi

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
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/kube/names"
)

// Cluster is how a pod reaches the API of its cluster.
type Cluster struct {
	Host, Port string // empty: there is no cluster

	// TokenFile has the service account's token. It is read for each request,
	// since the token changes every hour. CAFile has the CA of the API server.
	TokenFile, CAFile string
}

// InCluster returns the cluster of the pod in which this process runs. lookup reads the
// environment (os.LookupEnv).
func InCluster(lookup func(string) (string, bool)) Cluster {
	c := Cluster{TokenFile: names.ServiceAccountDir + "/token", CAFile: names.ServiceAccountDir + "/ca.crt"}
	c.Host, _ = lookup("KUBERNETES_SERVICE_HOST")
	c.Port, _ = lookup("KUBERNETES_SERVICE_PORT")
	return c
}

// PodNamespace returns the namespace of the pod in which this process runs, or "" outside a
// pod.
func PodNamespace() string {
	text, err := ReadFile(names.ServiceAccountDir + "/namespace")
	if err != nil {
		return ""
	}
	return printable.Text(strings.TrimSpace(string(text)), names.MaxName)
}

// Validate returns one error for each setting that cannot work.
func (c Cluster) Validate() []error {
	if c.Host == "" {
		return []error{errors.New("KUBERNETES_SERVICE_HOST is not set, but the Kubernetes API is needed: run the program in a pod")}
	}
	if _, err := strconv.ParseUint(c.Port, 10, 16); err != nil {
		return []error{fmt.Errorf("invalid value %q for KUBERNETES_SERVICE_PORT: not a port", c.Port)}
	}
	return nil
}

const (
	requestTimeout = 10 * time.Second
	// maxObject is larger than any object: etcd's limit is 1.5 MiB by default.
	maxObject = 4 << 20
	maxStatus = 64 << 10
)

// Operation is a kind of request.
type Operation struct {
	Name   string // the label value in a metric
	Method string // the HTTP method

	// The service account's role must allow Verb on Resource.
	Verb, Resource string
}

// ErrConflict means that the object was changed after it was read.
var ErrConflict = errors.New("the object was changed since it was read")

// StatusError is an answer of the API other than success.
type StatusError struct {
	Op      Operation
	Path    string
	Code    int
	Message string // of the API
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("%s %s: the API answered %d", e.Op.Verb, e.Path, e.Code)
	if e.Message != "" {
		text += " (" + e.Message + ")"
	}
	switch e.Code {
	case http.StatusUnauthorized:
		text += ": is the service account's token mounted and valid?"
	case http.StatusForbidden:
		text += fmt.Sprintf(": the service account needs a role that allows %q on %q", e.Op.Verb, e.Op.Resource)
	case http.StatusNotFound:
		if e.Op.Method != http.MethodPost {
			text += ": the object must exist; the Helm chart creates it"
		}
	}
	return text
}

// Is reports an error as an ErrConflict if the object was changed after it was read.
// The API answers 409 to an older resourceVersion, and 422 to a JSON patch whose
// test fails (k8s.io/apiserver/pkg/endpoints/handlers/patch.go).
func (e *StatusError) Is(target error) bool {
	return target == ErrConflict &&
		(e.Code == http.StatusConflict || e.Code == http.StatusUnprocessableEntity && e.Op.Method == http.MethodPatch)
}

// Client sends requests to the API. It is not safe for concurrent use.
type Client struct {
	base    string
	cluster Cluster
	ca      []byte // the content of CAFile when http was created
	http    *http.Client
	failed  func(Operation)
}

// New returns a client for a valid cluster. It calls failed for each request that
// fails, except after a conflict.
func New(c Cluster, failed func(Operation)) (*Client, error) {
	api := &Client{base: "https://" + net.JoinHostPort(c.Host, c.Port), cluster: c, failed: failed}
	_, err := api.trust()
	return api, err
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// trust reads the CA of the API, and reports whether it has changed.
func (c *Client) trust() (changed bool, err error) {
	ca, err := ReadFile(c.cluster.CAFile)
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

// Do sends in, which may be nil, and decodes the answer into out. If the CA has not signed the
// server's certificate and the kubelet has since delivered another CA, Do sends the request
// again with that CA.
func (c *Client) Do(ctx context.Context, op Operation, path, contentType string, in []byte, out any) error {
	err := c.try(ctx, op, path, contentType, in, out)
	if untrusted := new(tls.CertificateVerificationError); errors.As(err, &untrusted) {
		if changed, trustErr := c.trust(); trustErr != nil {
			err = errors.Join(err, trustErr)
		} else if changed {
			err = c.try(ctx, op, path, contentType, in, out)
		}
	}
	if err != nil && !errors.Is(err, ErrConflict) && ctx.Err() == nil {
		c.failed(op)
	}
	return err
}

func (c *Client) try(ctx context.Context, op Operation, path, contentType string, in []byte, out any) error {
	token, err := ReadFile(c.cluster.TokenFile)
	if err != nil {
		return fmt.Errorf("read the service account's token: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, op.Method, c.base+path, bytes.NewReader(in))
	if err != nil {
		return fmt.Errorf("%s %s: %w", op.Verb, path, err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "ullage-injector")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s %s: %w", op.Verb, path, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return refused(op, path, resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxObject+1))
	if err != nil {
		return fmt.Errorf("%s %s: receive the answer: %w", op.Verb, path, err)
	}
	if len(body) > maxObject {
		return fmt.Errorf("%s %s: the answer is larger than %d MiB", op.Verb, path, maxObject>>20)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", op.Verb, path, err)
	}
	return nil
}

// refused turns an answer into an error with the API's message.
func refused(op Operation, path string, resp *http.Response) error {
	var status struct {
		Message string `json:"message"`
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxStatus))
	_ = json.Unmarshal(body, &status) // a proxy may answer with anything: then there is no message
	return &StatusError{Op: op, Path: path, Code: resp.StatusCode, Message: printable.Text(status.Message, names.MaxText)}
}

// maxFile bounds a certificate, key or token file.
const maxFile = 1 << 20

// ReadFile reads a regular file of a bounded size. It does not wait for the
// writer of a FIFO.
func ReadFile(name string) ([]byte, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New(name + " is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d MiB", name, maxFile>>20)
	}
	return data, nil
}
