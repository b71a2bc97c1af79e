package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// Names in the API of admission reviews (k8s.io/api/admission/v1/types.go).
const (
	reviewGroup   = "admission.k8s.io/"
	reviewVersion = reviewGroup + "v1"
	reviewKind    = "AdmissionReview"
	jsonPatch     = "JSONPatch"
)

// headBytes is how much of a review is searched for its uid when the whole
// cannot be read. API servers write the uid within the first 200 bytes.
const headBytes = 64 << 10

// review is what an API server sends. Fields that are not listed are ignored,
// as the API's versioning wants it.
type review struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Request    *request `json:"request"`
}

type request struct {
	UID         string               `json:"uid"`
	Kind        groupVersionKind     `json:"kind"`
	Resource    groupVersionResource `json:"resource"`
	SubResource string               `json:"subResource"`
	Namespace   string               `json:"namespace"`
	Operation   string               `json:"operation"`
	Object      json.RawMessage      `json:"object"`
	DryRun      bool                 `json:"dryRun"`
}

type groupVersionKind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

type groupVersionResource struct {
	Group    string `json:"group"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
}

// answer is a review that goes back. UID is the request's.
type answer struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Response   response `json:"response"`
}

type response struct {
	UID     string  `json:"uid"`
	Allowed bool    `json:"allowed"`
	Status  *status `json:"status,omitempty"`

	// An API server takes both or neither.
	Patch     []byte `json:"patch,omitempty"`
	PatchType string `json:"patchType,omitempty"`

	Warnings []string `json:"warnings,omitempty"`
}

// status is as much of a meta/v1 Status as the user of a denied pod sees.
type status struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// decode reads a whole review. The error says what is wrong with it.
func decode(body []byte) (*request, error) {
	var r review
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("read the admission review: %w", err)
	}
	if r.Kind != reviewKind || r.APIVersion != reviewVersion {
		return nil, fmt.Errorf("the review is a %s of %s, and %s of %s is expected (the webhook's admissionReviewVersions must be [v1])",
			quoted(r.Kind), quoted(r.APIVersion), reviewKind, reviewVersion)
	}
	if r.Request == nil || r.Request.UID == "" {
		return nil, errors.New("the admission review has no request with a uid")
	}
	return r.Request, nil
}

// createsPod says whether the request is for a new pod, and not for some other
// object, a change, or a subresource such as a pod's binding.
func (r *request) createsPod() bool {
	return r.Operation == "CREATE" && r.SubResource == "" &&
		r.Resource == groupVersionResource{Version: "v1", Resource: "pods"} &&
		r.Kind == groupVersionKind{Version: "v1", Kind: "Pod"}
}

// podName returns what the pod is called in a log.
func (r *request) podName() string {
	var pod struct {
		Metadata struct {
			Name         string `json:"name"`
			GenerateName string `json:"generateName"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(r.Object, &pod)
	if pod.Metadata.Name != "" {
		return oneLine(pod.Metadata.Name, maxName)
	}
	return oneLine(pod.Metadata.GenerateName, maxName) + "*"
}

// head is what makes it possible to answer a review that cannot be read.
type head struct{ apiVersion, kind, uid string }

// answerable says whether there can be an answer. That of another version is
// taken to look like ours, which it did before v1.
func (h head) answerable() bool {
	return h.kind == reviewKind && strings.HasPrefix(h.apiVersion, reviewGroup) && h.uid != ""
}

// readHead finds what it can in the first part of a review that may end
// anywhere or turn into anything.
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

// eachField reads the object that comes next. field is called at each value,
// and has to read it.
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

// usablePatch says whether an API server can decode the patch: it takes one
// that it cannot for no answer.
func usablePatch(patch []byte) (operations int, err error) {
	var ops []struct {
		Op   string `json:"op"`
		Path string `json:"path"`
	}
	if err := json.Unmarshal(patch, &ops); err != nil {
		return 0, fmt.Errorf("the patch is no list of operations: %w", err)
	}
	return len(ops), nil
}

// Bounds on what is sent or logged of what somebody else wrote. An API server
// cuts warnings once they are longer than 4,096 bytes together.
const (
	maxName     = 253
	maxText     = 1024
	maxWarnings = 32
)

// bounded makes warnings fit to be sent.
func bounded(warnings []string) []string {
	var out []string
	for i, w := range warnings {
		if i == maxWarnings-1 && len(warnings) > maxWarnings {
			return append(out, fmt.Sprintf("and %d more warnings", len(warnings)-i))
		}
		out = append(out, oneLine(w, maxText))
	}
	return out
}

func quoted(s string) string { return fmt.Sprintf("%q", oneLine(s, maxName)) }

// oneLine makes a text fit for one line of at most limit bytes and a mark.
func oneLine(s string, limit int) string {
	cut := len(s) > limit
	if cut {
		s = s[:limit]
	}
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	if cut {
		s += "…"
	}
	return s
}
