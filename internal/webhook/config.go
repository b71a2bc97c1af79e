package webhook

import (
	"flag"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"time"
)

// Config is what a [Server] can be told.
type Config struct {
	// Listen is "host:port", or ":port" for every address. Port 0 takes any
	// free port.
	Listen string

	// ShutdownDelay is how long the server goes on answering after it was told
	// to stop. Zero: not at all.
	ShutdownDelay time.Duration

	// TLSCert and TLSKey are PEM files. Empty, both of them: the server makes
	// its own certificates, and what follows must be given.
	TLSCert, TLSKey string

	Secret        string        // that the certificates are kept in; it exists already
	Lifetime      time.Duration // of a serving certificate; the CA lives four times as long
	Service       string        // that API servers reach this one by
	Namespace     string        // of Secret and Service
	Configuration string        // the MutatingWebhookConfiguration whose caBundle is kept current

	// Cluster is how the API is reached. Not a flag.
	Cluster Cluster

	// DenyOnError refuses a pod where an error would else let it start without
	// a sidecar. Not a flag of this package.
	DenyOnError bool
}

// The bounds of settings.
const (
	minLifetime      = time.Hour
	maxLifetime      = 10 * 365 * 24 * time.Hour
	maxShutdownDelay = 5 * time.Minute
)

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config {
	return Config{Listen: ":9443", ShutdownDelay: 5 * time.Second, Lifetime: 90 * 24 * time.Hour}
}

// Flags declares the settings on fs, with the values of c as defaults.
func (c *Config) Flags(fs *flag.FlagSet) {
	fs.StringVar(&c.Listen, "webhook-listen", c.Listen, "`ADDRESS` for the webhook, HTTPS: \":port\" or \"host:port\"")
	fs.DurationVar(&c.ShutdownDelay, "shutdown-delay", c.ShutdownDelay,
		"on SIGTERM, go on answering for this `DURATION`, so that API servers learn of it first")
	fs.StringVar(&c.TLSCert, "tls-cert", c.TLSCert,
		"PEM `FILE` with the certificate to serve with, and those between it and its CA; read again when it changes")
	fs.StringVar(&c.TLSKey, "tls-key", c.TLSKey, "PEM `FILE` with the key of --tls-cert")
	fs.StringVar(&c.Secret, "certificate-secret", c.Secret,
		"without --tls-cert: `NAME` of the Secret that self-made certificates are kept in; it must exist, and may be empty")
	fs.DurationVar(&c.Lifetime, "certificate-lifetime", c.Lifetime,
		"`DURATION` that a self-made certificate is good for; it is renewed after two thirds of it")
	fs.StringVar(&c.Service, "service", c.Service, "`NAME` of the Service that API servers reach the webhook by")
	fs.StringVar(&c.Namespace, "namespace", c.Namespace, "`NAMESPACE` of the Service and the Secret; in a pod, that of the pod")
	fs.StringVar(&c.Configuration, "webhook-configuration", c.Configuration,
		"`NAME` of the MutatingWebhookConfiguration whose caBundle is kept current")
}

// Validate returns one error for each setting that cannot work.
func (c Config) Validate() []error {
	var bad []error
	if _, port, err := net.SplitHostPort(c.Listen); err != nil || !isPort(port) {
		bad = append(bad, fmt.Errorf("invalid value %q for --webhook-listen: write it like :9443 or 127.0.0.1:9443", c.Listen))
	}
	if c.ShutdownDelay < 0 || c.ShutdownDelay > maxShutdownDelay {
		bad = append(bad, fmt.Errorf("invalid value %s for --shutdown-delay: it is from 0s to %s", c.ShutdownDelay, maxShutdownDelay))
	}
	if c.TLSCert == "" && c.TLSKey == "" {
		return append(bad, c.validateSelfMade()...)
	}
	if c.TLSCert == "" || c.TLSKey == "" {
		bad = append(bad, fmt.Errorf("--tls-cert and --tls-key go together: give both, or none for self-made certificates"))
	}
	if c.Secret != "" {
		bad = append(bad, fmt.Errorf("--certificate-secret is for self-made certificates: give it, or --tls-cert and --tls-key"))
	}
	return bad
}

// What Kubernetes allows as a name: of a Service or a namespace, and of most
// other objects.
var (
	label     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
)

func (c Config) validateSelfMade() []error {
	var bad []error
	if c.Lifetime < minLifetime || c.Lifetime > maxLifetime {
		bad = append(bad, fmt.Errorf("invalid value %s for --certificate-lifetime: it is from %s to %s", c.Lifetime, minLifetime, maxLifetime))
	}
	for _, name := range []struct {
		flag, value string
		ok          bool
	}{
		{"certificate-secret", c.Secret, isName(c.Secret)},
		{"service", c.Service, label.MatchString(c.Service)},
		{"namespace", c.Namespace, label.MatchString(c.Namespace)},
		{"webhook-configuration", c.Configuration, isName(c.Configuration)},
	} {
		switch {
		case name.value == "":
			bad = append(bad, fmt.Errorf("--%s is missing: self-made certificates need it (or give --tls-cert and --tls-key)", name.flag))
		case !name.ok:
			bad = append(bad, fmt.Errorf("invalid value %q for --%s: it is no name that Kubernetes allows", name.value, name.flag))
		}
	}
	return append(bad, c.Cluster.validate()...)
}

func isName(s string) bool { return len(s) <= 253 && subdomain.MatchString(s) }

func isPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

// selfMade says that the server makes its own certificates.
func (c Config) selfMade() bool { return c.TLSCert == "" }

// dnsNames are the names that the Service is reached by. API servers use the
// third.
func (c Config) dnsNames() []string {
	name := c.Service + "." + c.Namespace
	return []string{c.Service, name, name + ".svc", name + ".svc.cluster.local"}
}
