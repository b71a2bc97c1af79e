package webhook

import (
	"flag"
	"fmt"
	"net"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ullage/ullage/internal/base/settings"
)

// Config holds the settings of a [Server].
type Config struct {
	// Listen is "host:port", or ":port" for every address. Port 0 takes any
	// free port.
	Listen string

	// ShutdownDelay is how long the server continues to answer after Run's
	// context has ended. If zero, the server stops at once.
	ShutdownDelay time.Duration

	// DenyOnError denies a pod that would otherwise start without a sidecar because of an error.
	// Not a flag of this package.
	DenyOnError bool

	// OnDecision, if not nil, is called for each pod with a controller that is injected or
	// refused, except in dry runs. It must not block. Not a flag.
	OnDecision func(Notice)

	// Reasons are all possible values of [Decision.Refused]. Not a flag.
	Reasons []string
}

// Notice reports the decision about a pod that has a controller.
type Notice struct {
	Namespace string
	Owner     metav1.OwnerReference // the controller in the review
	Injected  bool
	Warnings  []string
}

const maxShutdownDelay = 5 * time.Minute

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config { return Config{Listen: ":9443", ShutdownDelay: 5 * time.Second} }

// Flags declares the settings on fs, with the values of c as defaults.
func (c *Config) Flags(fs *flag.FlagSet) {
	fs.StringVar(&c.Listen, "webhook-listen", c.Listen, "HTTPS `ADDRESS` of the webhook: \":port\" or \"host:port\"")
	settings.DurationVar(fs, &c.ShutdownDelay, "shutdown-delay", c.ShutdownDelay,
		"on SIGTERM, continue to answer for this `DURATION`, until API servers know that the injector is ending")
}

// Validate returns one error for each setting that cannot work.
func (c Config) Validate() []error {
	var bad []error
	if _, port, err := net.SplitHostPort(c.Listen); err != nil || !isPort(port) {
		bad = append(bad, fmt.Errorf("invalid value %q for --webhook-listen: write it like :9443 or 127.0.0.1:9443", c.Listen))
	}
	if c.ShutdownDelay < 0 || c.ShutdownDelay > maxShutdownDelay {
		bad = append(bad, fmt.Errorf("invalid value %s for --shutdown-delay: it must be from 0s to %s", c.ShutdownDelay, maxShutdownDelay))
	}
	return bad
}

func isPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}
