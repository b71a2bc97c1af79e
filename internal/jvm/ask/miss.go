package ask

import "fmt"

// Miss is an ineffective attempt to ask for a sidecar.
type Miss struct {
	Text string // what is wrong
	Hint string // what to do about it
}

// Place says where to set the label.
const Place = "set the label " + InjectLabel + `: "true" in spec.template.metadata.labels`

// Misses returns the ineffective attempts to ask for a sidecar. labels and annotations are those
// of a pod or its template. object has the labels of the object that contains the template, and
// name is the name of that object. Both are empty for a pod without such an object.
func Misses(labels, annotations, object map[string]string, name string) []Miss {
	var all []Miss
	label, labelled := labels[InjectLabel]
	if value, annotated := annotations[InjectLabel]; annotated && value != "false" && !labelled {
		all = append(all, Miss{InjectLabel + " is an annotation of the pod; only a label adds a sidecar", Place})
	}
	if value, misplaced := object[InjectLabel]; misplaced && value != "false" && !labelled {
		all = append(all, Miss{fmt.Sprintf("the label %s is on %s, not on the template of its pods", InjectLabel, name), Place})
	}
	if labelled && label != "true" && label != "false" {
		all = append(all, Miss{fmt.Sprintf("the label %s is %q, which has no effect", InjectLabel, label), `write "true"`})
	}
	return all
}
