package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
)

// The parts of an in-toto statement with a SLSA provenance [1] that are needed
// here.
//
// [1]: https://slsa.dev/spec/v1.0/provenance
type (
	statement struct {
		Type          string     `json:"_type"`
		Subject       []resource `json:"subject"`
		PredicateType string     `json:"predicateType"`
		Predicate     provenance `json:"predicate"`
	}
	provenance struct {
		BuildDefinition buildDefinition `json:"buildDefinition"`
		RunDetails      runDetails      `json:"runDetails"`
	}
	buildDefinition struct {
		BuildType            string            `json:"buildType"`
		ExternalParameters   map[string]string `json:"externalParameters"`
		InternalParameters   map[string]string `json:"internalParameters"`
		ResolvedDependencies []resource        `json:"resolvedDependencies"`
	}
	runDetails struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
	}
	resource struct {
		Name   string            `json:"name,omitempty"`
		URI    string            `json:"uri,omitempty"`
		Digest map[string]string `json:"digest,omitempty"`
	}
)

// provenance records the source and the tools from which the files of the release and the images
// were built. The statement is not signed and has no times: it is the same on every machine that
// builds the same release and names the same builder. The argument images has the digest of each
// image, by image name.
func (r *release) provenance(images map[string]string) error {
	s := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	for _, f := range slices.SortedFunc(slices.Values(r.files), func(a, b file) int { return cmp.Compare(a.name, b.name) }) {
		s.Subject = append(s.Subject, resource{Name: f.name, Digest: map[string]string{"sha256": f.sha256}})
	}
	for _, name := range slices.Sorted(maps.Keys(images)) {
		s.Subject = append(s.Subject, resource{Name: name, Digest: map[string]string{"sha256": strings.TrimPrefix(images[name], "sha256:")}})
	}
	s.Predicate.BuildDefinition = r.definition()
	s.Predicate.RunDetails.Builder.ID = r.builder
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write the provenance: %w", err)
	}
	return r.add("ullage_"+r.version+"_provenance.json", append(data, '\n'))
}

func (s source) definition() buildDefinition {
	commit, dirty := strings.CutSuffix(s.revision, "-dirty")
	from := resource{URI: "git+" + repository + "@v" + s.version}
	if commit != "" {
		from.Digest = map[string]string{"gitCommit": commit}
	}
	return buildDefinition{
		BuildType:          repository + "/blob/main/CONTRIBUTING.md#releases",
		ExternalParameters: map[string]string{"target": "make release", "VERSION": s.version},
		InternalParameters: map[string]string{
			"SOURCE_DATE_EPOCH": fmt.Sprint(s.date.Unix()),
			"go":                runtime.Version(),
			"dirty":             fmt.Sprint(dirty), // files differed from the commit
		},
		ResolvedDependencies: []resource{from},
	}
}
