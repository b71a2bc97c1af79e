package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/ullage/ullage/internal/base/printable"
)

// answerJSON is one answer for programs.
type answerJSON struct {
	Namespace string          `json:"namespace,omitempty"` // empty if it is kubectl's default
	Pod       string          `json:"pod"`
	Container string          `json:"container,omitempty"` // the sidecar's
	Error     string          `json:"error,omitempty"`
	Status    json.RawMessage `json:"status,omitempty"` // as the sidecar returned it
	Levels    json.RawMessage `json:"levels,omitempty"` // the levels in the status
}

// statusOf and levelsOf copy the part of an answer that a command shows, undecoded, so that
// fields of a newer sidecar are kept.
func statusOf(a answer, one *answerJSON) { one.Status = a.raw }

func levelsOf(a answer, one *answerJSON) {
	var st struct {
		Levels json.RawMessage `json:"levels"`
	}
	_ = json.Unmarshal(a.raw, &st) // cannot fail: the answer has been decoded before
	one.Levels = st.Levels
}

// answersJSON prints the answers. fill adds to each what the command shows.
func answersJSON(answers []answer, fill func(answer, *answerJSON)) (string, error) {
	all := []answerJSON{}
	for _, a := range answers {
		one := answerJSON{Namespace: a.of.cluster.namespace, Pod: a.of.pod, Container: a.of.container.Name}
		if a.err != nil {
			one.Error = printable.Line(a.err.Error())
		} else {
			fill(a, &one)
		}
		all = append(all, one)
	}
	return jsonText(all)
}

// jsonText returns v as JSON that is safe to show on a terminal.
func jsonText(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("print JSON: %w", err)
	}
	return printable.JSON(b.String()), nil
}
