package certs

import (
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/kube/kubeapi"
	"github.com/ullage/ullage/internal/kube/names"
)

// Config says how a [Serving] gets its certificate.
type Config struct {
	// TLSCert and TLSKey are PEM files. If both are empty, the injector makes the certificate
	// itself, and the following settings are required.
	TLSCert, TLSKey string

	Secret        string        // holds the certificates; it must exist
	Lifetime      time.Duration // of a serving certificate; a CA is valid four times as long
	Service       string        // through which API servers reach the webhook
	Namespace     string        // of Secret and Service
	Configuration string        // the MutatingWebhookConfiguration whose caBundle is kept current

	// Cluster says how to reach the Kubernetes API. Not a flag.
	Cluster kubeapi.Cluster
}

// The bounds of Lifetime.
const (
	minLifetime = time.Hour
	maxLifetime = 10 * 365 * 24 * time.Hour
)

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config { return Config{Lifetime: 90 * 24 * time.Hour} }

// Flags declares the settings on fs, with the values of c as defaults.
func (c *Config) Flags(fs *flag.FlagSet) {
	fs.StringVar(&c.TLSCert, "tls-cert", c.TLSCert,
		"PEM `FILE` with the serving certificate and its intermediate certificates; read again when it changes")
	fs.StringVar(&c.TLSKey, "tls-key", c.TLSKey, "PEM `FILE` with the key of --tls-cert")
	fs.StringVar(&c.Secret, "certificate-secret", c.Secret,
		"without --tls-cert: `NAME` of the Secret in which the injector keeps the certificates that it makes; it must exist and may be empty")
	settings.DurationVar(fs, &c.Lifetime, "certificate-lifetime", c.Lifetime,
		"`DURATION` for which a certificate that the injector makes is valid; it is renewed after two thirds of it")
	fs.StringVar(&c.Service, "service", c.Service, "`NAME` of the Service through which API servers reach the webhook")
	fs.StringVar(&c.Namespace, "namespace", c.Namespace, "`NAMESPACE` of the Service and the Secret; in a pod, the pod's namespace")
	fs.StringVar(&c.Configuration, "webhook-configuration", c.Configuration,
		"`NAME` of the MutatingWebhookConfiguration whose caBundle is kept current")
}

// Validate returns one error for each setting that cannot work.
func (c Config) Validate() []error {
	if c.selfMade() {
		return c.validateSelfMade()
	}
	var bad []error
	if c.TLSCert == "" || c.TLSKey == "" {
		bad = append(bad, errors.New("--tls-cert and --tls-key must be set together: set both, or neither if the injector is to make certificates"))
	}
	if c.Secret != "" {
		bad = append(bad, errors.New("--certificate-secret is for certificates that the injector makes: set either it, or both --tls-cert and --tls-key"))
	}
	return bad
}

func (c Config) validateSelfMade() []error {
	var bad []error
	if c.Lifetime < minLifetime || c.Lifetime > maxLifetime {
		bad = append(bad, fmt.Errorf("invalid value %s for --certificate-lifetime: it must be from %s to %s", c.Lifetime, minLifetime, maxLifetime))
	}
	for _, name := range []struct {
		flag, value string
		ok          bool
	}{
		{"certificate-secret", c.Secret, names.IsName(c.Secret)},
		{"service", c.Service, names.IsLabel(c.Service)},
		{"namespace", c.Namespace, names.IsLabel(c.Namespace)},
		{"webhook-configuration", c.Configuration, names.IsName(c.Configuration)},
	} {
		switch {
		case name.value == "":
			bad = append(bad, fmt.Errorf("--%s is missing: self-made certificates need it (or set --tls-cert and --tls-key)", name.flag))
		case !name.ok:
			bad = append(bad, fmt.Errorf("invalid value %q for --%s: Kubernetes does not allow this name", name.value, name.flag))
		}
	}
	for _, err := range c.Cluster.Validate() {
		bad = append(bad, fmt.Errorf("self-made certificates: %w (or set --tls-cert and --tls-key)", err))
	}
	return bad
}

// selfMade reports whether the certificate is made here rather than read from files.
func (c Config) selfMade() bool { return c.TLSCert == "" && c.TLSKey == "" }

// dnsNames returns the DNS names of the Service. API servers use the third.
func (c Config) dnsNames() []string {
	name := c.Service + "." + c.Namespace
	return []string{c.Service, name, name + ".svc", name + ".svc.cluster.local"}
}
