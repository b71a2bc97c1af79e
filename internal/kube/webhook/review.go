package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/names"
)

// The version and kind of the reviews that this package decides.
const (
	reviewVersion = "admission.k8s.io/v1"
	reviewKind    = "AdmissionReview"
)

// headBytes is how much of a review is searched for its uid if the whole review
// can't be read. API servers write the uid within the first 200 bytes.
const headBytes = 64 << 10

// decode reads a whole review. It ignores unknown fields, as the API's versioning requires.
func decode(body []byte) (*admissionv1.AdmissionRequest, error) {
	var r admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("read the admission review: %w", err)
	}
	if r.Kind != reviewKind || r.APIVersion != reviewVersion {
		return nil, fmt.Errorf("the review has the kind %s of %s, not %s of %s (the webhook's admissionReviewVersions must be [v1])",
			quoted(r.Kind), quoted(r.APIVersion), reviewKind, reviewVersion)
	}
	if r.Request == nil || r.Request.UID == "" {
		return nil, errors.New("the admission review has no request with a uid")
	}
	return r.Request, nil
}

// createsPod reports whether the request is for a new pod, rather than for
// another object, a change, or a subresource such as a pod's binding.
func createsPod(r *admissionv1.AdmissionRequest) bool {
	return r.Operation == admissionv1.Create && r.SubResource == "" &&
		r.Resource == metav1.GroupVersionResource{Version: "v1", Resource: "pods"} &&
		r.Kind == metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}
}

// namesOf returns the name of a pod, the name of the object that a person created, such as
// deployment/web, and the pod's controller, or nil. The owner is empty for a pod that has none.
// Both names are untrusted text for the log.
func namesOf(pod []byte) (name, owner string, controller *metav1.OwnerReference) {
	var p metav1.PartialObjectMetadata
	_ = json.Unmarshal(pod, &p)
	name = printable.Text(p.Name, names.MaxName)
	if p.Name == "" {
		name = printable.Text(p.GenerateName, names.MaxName) + "*"
	}
	for i, o := range p.OwnerReferences {
		if o.Controller == nil || !*o.Controller {
			continue
		}
		kind, of := ask.Owner(o.Kind, o.Name, p.Labels)
		return name, printable.Text(kind+"/"+of, names.MaxName), &p.OwnerReferences[i]
	}
	return name, "", nil
}

// head has the fields that an answer to an unreadable review needs.
type head struct{ apiVersion, kind, uid string }

// answerable reports whether an answer to the API server is possible. It assumes that the answers
// of all versions have the same form as in v1, which is true of the versions before v1.
func (h head) answerable() bool {
	return h.kind == reviewKind && strings.HasPrefix(h.apiVersion, admissionv1.GroupName+"/") && h.uid != ""
}

// readHead reads the fields of head from the first part of a review, which may end
// anywhere and contain anything.
func readHead(body []byte) head {
	var h head
	d := json.NewDecoder(bytes.NewReader(body[:min(len(body), headBytes)]))
	var other json.RawMessage
	_ = eachField(d, func(key string) error {
		switch key {
		case "apiVersion":
			return d.Decode(&h.apiVersion)
		case "kind":
			return d.Decode(&h.kind)
		case "request":
			return eachField(d, func(key string) error {
				if key == "uid" {
					return d.Decode(&h.uid)
				}
				return d.Decode(&other)
			})
		}
		return d.Decode(&other)
	})
	return h
}

// eachField reads the next object. It calls field for each value, and field must
// read the value.
func eachField(d *json.Decoder, field func(key string) error) error {
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return errors.New("not an object")
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		if err := field(name); err != nil {
			return err
		}
	}
	_, err := d.Token() // "}"
	return err
}

// usablePatch checks that an API server can decode the patch. An API server treats a patch that it
// cannot decode like a missing answer.
func usablePatch(patch []byte) (operations int, err error) {
	var ops []struct {
		Op   string `json:"op"`
		Path string `json:"path"`
	}
	if err := json.Unmarshal(patch, &ops); err != nil {
		return 0, fmt.Errorf("the patch is not a list of operations: %w", err)
	}
	return len(ops), nil
}

// Bounds on untrusted text that is sent or logged. An API server cuts warnings
// whose total length is over 4,096 bytes.
const (
	maxWarnings = 32
)

// bounded makes warnings safe to send.
func bounded(warnings []string) []string {
	var out []string
	for i, w := range warnings {
		if i == maxWarnings-1 && len(warnings) > maxWarnings {
			return append(out, fmt.Sprintf("and %d more warnings", len(warnings)-i))
		}
		out = append(out, printable.Text(w, names.MaxText))
	}
	return out
}

func quoted(s string) string { return fmt.Sprintf("%q", printable.Text(s, names.MaxName)) }
