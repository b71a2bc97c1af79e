package ask

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Status is the value of the annotation [InjectedAnnotation], as JSON. Either JVMs lists the
// sidecars of the pod, or the injection was refused.
type Status struct {
	Image    string   `json:"image,omitempty"`
	Dest     string   `json:"dest,omitempty"`
	JVMs     []JVM    `json:"jvms,omitempty"`
	Adds     string   `json:"adds,omitempty"` // human-readable: what the sidecars add to the pod's resource requests
	Warnings []string `json:"warnings,omitempty"`

	// Refused is why the pod has no sidecar, and Errors has the details. If empty, the pod was
	// injected. Containers are the containers that caused the refusal.
	Refused    Reason   `json:"refused,omitempty"`
	Errors     []string `json:"errors,omitempty"`
	Containers []string `json:"containers,omitempty"`
}

// JVM describes the injection for one container with a JVM.
type JVM struct {
	Container string `json:"container"`
	Sidecar   string `json:"sidecar"`
	Attach    string `json:"attach"`
	Listen    string `json:"listen"`
}

// Reason is why a pod was not injected. Its values are the label values of a
// metric.
type Reason string

// The reasons. The table of docs/troubleshooting.md is made from the comments.
const (
	BadAnnotation Reason = "annotation" // an annotation or a default of the chart is invalid
	NameTaken     Reason = "name"       // a container or a volume has one of the injector's names
	MountTaken    Reason = "mount"      // another volume is mounted where the log must be
	BadClaim      Reason = "claim"      // the claim or the volume of `ullage.dev/dest` cannot be used, for example because it is read-only
	OptionsHidden Reason = "options"    // the JVM's options are set by `valueFrom` or `envFrom`, which the injector cannot see
	JDK8          Reason = "jdk8"       // according to the image's tag or `JAVA_VERSION`, the JVM is of JDK 8, which would not start with the options in the chosen variable
	Unsuitable    Reason = "unsuitable" // a pod in `kube-system`, a pod with only proxies, or a pod for nodes for which the sidecar has no image (Windows, other architectures)
)

// Reasons returns every Reason.
func Reasons() []Reason {
	return []Reason{BadAnnotation, NameTaken, MountTaken, BadClaim, OptionsHidden, JDK8, Unsuitable}
}

// Encode returns the annotation's value.
func (s Status) Encode() string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // keep <, > and & readable
	if err := e.Encode(s); err != nil {
		panic(fmt.Sprintf("encode strings: %v", err)) // cannot happen
	}
	return strings.TrimSpace(b.String())
}

// textWidth bounds a line of [Status.Text], in bytes: if a line of an annotation has more than 138
// bytes, kubectl describe cuts off the rest.
const textWidth = 120

// Text returns the errors and the warnings as lines that kubectl describe shows in full. The second
// and later lines of one error or warning are indented. Without errors and warnings, Text is empty.
func (s Status) Text() string {
	var lines []string
	for _, e := range s.Errors {
		lines = append(lines, wrap("not injected: "+e)...)
	}
	for _, w := range s.Warnings {
		lines = append(lines, wrap(w)...)
	}
	return strings.Join(lines, "\n")
}

// wrap breaks a line at spaces into lines of at most textWidth bytes. It also breaks a longer word,
// between two characters if the word is UTF-8.
func wrap(text string) []string {
	const indent = "  "
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > textWidth {
			lines = append(lines, line)
			line = ""
		}
		switch {
		case line != "":
			line += " " + word
		case len(lines) == 0:
			line = word
		default:
			line = indent + word
		}
		for len(line) > textWidth {
			end := textWidth
			for end > textWidth-utf8.UTFMax && !utf8.RuneStart(line[end]) {
				end--
			}
			lines = append(lines, line[:end])
			line = indent + line[end:]
		}
	}
	return append(lines, line)
}

// ParseStatus parses the annotation's value. The value is untrusted: anyone who may create pods
// can write it.
func ParseStatus(text string) (Status, error) {
	var s Status
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return Status{}, fmt.Errorf("read the annotation %s: %w", InjectedAnnotation, err)
	}
	return s, nil
}
