package podmeta

import "strings"

// Owner returns the object that a person has made for a pod, as deployment/web,
// from the kind and name of the pod's controller and the pod's labels: a Deployment
// names its ReplicaSets by its own name and a label.
func Owner(kind, name string, labels map[string]string) (ownerKind, ownerName string) {
	kind = strings.ToLower(kind)
	if of, found := strings.CutSuffix(name, "-"+labels["pod-template-hash"]); found && kind == "replicaset" && of != "" {
		return "deployment", of
	}
	return kind, name
}
