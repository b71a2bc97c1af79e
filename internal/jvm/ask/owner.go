package ask

import "strings"

// makers are the kinds of objects that create pods through a ReplicaSet. The key is the label
// whose value is the last part of the ReplicaSet's name.
var makers = map[string]string{
	"pod-template-hash":          "deployment",
	"rollouts-pod-template-hash": "rollout", // of Argo Rollouts
}

// Owner returns the object that a person created for a pod, such as deployment/web, given the kind
// and name of the pod's controller and the pod's labels. The name of a Deployment's ReplicaSet is
// the name of the Deployment followed by the value of a label.
func Owner(kind, name string, labels map[string]string) (ownerKind, ownerName string) {
	kind = strings.ToLower(kind)
	for label, maker := range makers {
		if of, found := strings.CutSuffix(name, "-"+labels[label]); found && kind == "replicaset" && of != "" {
			return maker, of
		}
	}
	return kind, name
}
