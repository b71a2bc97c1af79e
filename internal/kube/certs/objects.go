package certs

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"time"
)

// secret is a Secret (core/v1). Fields that this package does not know are
// written back unchanged.
type secret struct {
	path   string
	fields map[string]json.RawMessage
	data   map[string][]byte
}

// metadata is the part of an object's metadata that is used here.
type metadata struct {
	ResourceVersion string `json:"resourceVersion"`
}

func (c *client) readSecret(ctx context.Context, namespace, name string) (secret, error) {
	s := secret{path: "/api/v1/namespaces/" + namespace + "/secrets/" + name}
	if err := c.Do(ctx, getSecret, s.path, "", nil, &s.fields); err != nil {
		return secret{}, err
	}
	var meta metadata
	if err := json.Unmarshal(s.fields["metadata"], &meta); err != nil || meta.ResourceVersion == "" {
		// Without a resourceVersion, a write could overwrite another replica's.
		return secret{}, fmt.Errorf("get %s: the answer has no resourceVersion", s.path)
	}
	if data, ok := s.fields["data"]; ok {
		if err := json.Unmarshal(data, &s.data); err != nil {
			return secret{}, fmt.Errorf("get %s: read its data: %w", s.path, err)
		}
	}
	return s, nil
}

// writeSecret puts data into the Secret that was read and keeps its other keys.
// It returns errConflict if the Secret has changed since then.
func (c *client) writeSecret(ctx context.Context, s secret, data map[string][]byte) error {
	merged := map[string][]byte{}
	maps.Copy(merged, s.data)
	maps.Copy(merged, data)
	encoded, err := json.Marshal(merged)
	if err != nil {
		return fmt.Errorf("encode the Secret: %w", err)
	}
	s.fields["data"] = encoded
	body, err := json.Marshal(s.fields)
	if err != nil {
		return fmt.Errorf("encode the Secret: %w", err)
	}
	var ignored json.RawMessage
	return c.Do(ctx, updateSecret, s.path, "application/json", body, &ignored)
}

// configuration is the part of a MutatingWebhookConfiguration
// (admissionregistration.k8s.io/v1) that is used here.
type configuration struct {
	path     string
	Metadata metadata `json:"metadata"`
	Webhooks []struct {
		ClientConfig struct {
			CABundle []byte `json:"caBundle"`
			Service  *struct {
				Name      string `json:"name"`
				Namespace string `json:"namespace"`
			} `json:"service"`
		} `json:"clientConfig"`
	} `json:"webhooks"`
}

func (c *client) readConfiguration(ctx context.Context, name string) (configuration, error) {
	conf := configuration{path: "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/" + name}
	if err := c.Do(ctx, getConfiguration, conf.path, "", nil, &conf); err != nil {
		return configuration{}, err
	}
	if conf.Metadata.ResourceVersion == "" {
		return configuration{}, fmt.Errorf("get %s: the answer has no resourceVersion", conf.path)
	}
	return conf, nil
}

// ours returns the indexes of the webhooks that reach this server, through the Service or a
// URL. The other webhooks must not be changed.
func (conf configuration) ours(service, namespace string) []int {
	var at []int
	for i, w := range conf.Webhooks {
		s := w.ClientConfig.Service
		if s == nil || s.Name == service && s.Namespace == namespace {
			at = append(at, i)
		}
	}
	return at
}

// trusts reports whether API servers trust a server with this certificate for all webhooks at
// these indexes. If there are no indexes, it returns false.
func (conf configuration) trusts(at []int, leaf *x509.Certificate, now time.Time) bool {
	for _, i := range at {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(conf.Webhooks[i].ClientConfig.CABundle)
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now}); err != nil {
			return false
		}
	}
	return len(at) > 0
}

// patchOp is one operation of a JSON patch (RFC 6902).
type patchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// caBundlePatch returns the patch that puts bundle into the webhooks at these indexes, or nil
// if all of them have it. The patch applies only to the version that was read, for which the
// indexes are right.
func (conf configuration) caBundlePatch(at []int, bundle []byte) []patchOp {
	ops := []patchOp{{"test", "/metadata/resourceVersion", conf.Metadata.ResourceVersion}}
	for _, i := range at {
		if !bytes.Equal(conf.Webhooks[i].ClientConfig.CABundle, bundle) {
			ops = append(ops, patchOp{"add", fmt.Sprintf("/webhooks/%d/clientConfig/caBundle", i), bundle})
		}
	}
	if len(ops) == 1 {
		return nil
	}
	return ops
}

func (c *client) patchConfiguration(ctx context.Context, conf configuration, ops []patchOp) error {
	body, err := json.Marshal(ops)
	if err != nil {
		return fmt.Errorf("encode the patch: %w", err)
	}
	var ignored json.RawMessage
	return c.Do(ctx, patchConfiguration, conf.path, "application/json-patch+json", body, &ignored)
}
