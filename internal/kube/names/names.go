// Package names says what Kubernetes accepts as a name, and how much of foreign text is shown.
package names

import "regexp"

// ServiceAccountDir is where a kubelet puts the credentials of a pod's service account.
const ServiceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// Bounds on text of others that is logged, reported or sent: the name of an object, and
// what another server or a file says.
const (
	MaxName = 253
	MaxText = 1024
)

// What an API server takes as the name of most objects, and as that of a namespace or a Service.
var (
	subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	label     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
)

// IsName reports whether most objects may have the name.
func IsName(s string) bool { return len(s) <= MaxName && subdomain.MatchString(s) }

// IsLabel reports whether a namespace or a Service may have the name.
func IsLabel(s string) bool { return label.MatchString(s) }
