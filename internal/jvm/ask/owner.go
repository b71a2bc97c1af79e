package ask

import "strings"

// makers are the kinds that make pods by a ReplicaSet, by the label that has the last part
// of the ReplicaSet's name.
var makers = map[string]string{
	"pod-template-hash":          "deployment",
	"rollouts-pod-template-hash": "rollout", // of Argo Rollouts
}

// Owner returns the object that a person has made for a pod, as deployment/web,
// from the kind and name of the pod's controller and the pod's labels: a Deployment
// names its ReplicaSets by its own name and a label.
func Owner(kind, name string, labels map[string]string) (ownerKind, ownerName string) {
	kind = strings.ToLower(kind)
	for label, maker := range makers {
		if of, found := strings.CutSuffix(name, "-"+labels[label]); found && kind == "replicaset" && of != "" {
			return maker, of
		}
	}
	return kind, name
}
