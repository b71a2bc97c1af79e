// Package names says which names Kubernetes accepts and how much untrusted text is shown.
package names

import "regexp"

// ServiceAccountDir is where a kubelet puts the credentials of a pod's service account.
const ServiceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// Bounds on untrusted text that is logged, reported or sent: MaxName for the name of an object,
// MaxText for text from another server or a file.
const (
	MaxName = 253
	MaxText = 1024
)

// subdomain matches the names that an API server accepts for most objects. label matches the names of
// namespaces and Services.
var (
	subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	label     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
)

// IsName reports whether most objects may have the name.
func IsName(s string) bool { return len(s) <= MaxName && subdomain.MatchString(s) }

// IsLabel reports whether a namespace or a Service may have the name.
func IsLabel(s string) bool { return label.MatchString(s) }
