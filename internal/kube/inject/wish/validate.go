package wish

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/names"
	"github.com/ullage/ullage/internal/sidecar"
)

// Validate returns one error for each setting that cannot work.
func (c Config) Validate() []error {
	var bad []error
	if err := checkImage(c.Image); err != nil {
		bad = append(bad, fmt.Errorf("image %.80q: %w", c.Image, err))
	}
	if !slices.Contains([]string{"", "Always", "IfNotPresent", "Never"}, c.ImagePullPolicy) {
		bad = append(bad, fmt.Errorf("imagePullPolicy %.80q: use Always, IfNotPresent or Never", c.ImagePullPolicy))
	}
	if c.OnError != Allow && c.OnError != Deny {
		bad = append(bad, fmt.Errorf("onError %.80q: use %s or %s", c.OnError, Allow, Deny))
	}
	for _, name := range c.PullSecrets {
		if !names.IsName(name) {
			bad = append(bad, fmt.Errorf("pullSecrets: %.80q is not the name of a Secret", name))
		}
	}
	bad = append(bad, validateDefaults("defaults", c.Defaults, append(ofContainers(), ofPods...))...)
	for _, ns := range slices.Sorted(maps.Keys(c.Namespaces)) {
		if !names.IsName(ns) {
			bad = append(bad, fmt.Errorf("namespaces: %.80q is not the name of a namespace", ns))
			continue
		}
		bad = append(bad, validateDefaults("namespaces: "+ns, c.Namespaces[ns], ofPods)...)
	}
	return slices.Concat(bad, c.Resources.validate(), c.validatePolicy())
}

// ValidateForAll is like Validate, for a configuration of all namespaces: it also refuses a
// default with which some pods would never start.
func (c Config) ValidateForAll() []error {
	bad := c.Validate()
	if kind, _, _ := strings.Cut(strings.TrimSpace(c.Defaults[Dest]), ":"); kind == "pvc" {
		bad = append(bad, errors.New("defaults: dest: a pod in a namespace without the claim would never start: leave it out, and let pods name their own claim"))
	}
	return bad
}

// validate refuses amounts for which an API server would refuse the whole pod.
func (r Resources) validate() []error {
	var bad []error
	for _, list := range []corev1.ResourceList{r.Requests, r.Limits} {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			if !slices.Contains([]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}, name) {
				bad = append(bad, fmt.Errorf("resources: %.80q: use cpu, memory and ephemeral-storage", name))
			}
			if q := list[name]; q.Sign() < 0 {
				bad = append(bad, fmt.Errorf("resources: %s is negative", name))
			} else if err := checkBound(q); err != nil {
				bad = append(bad, fmt.Errorf("resources: %s: %w", name, err))
			}
		}
	}
	for name, q := range r.Guaranteed {
		if name != corev1.ResourceCPU || q.Sign() <= 0 {
			bad = append(bad, fmt.Errorf("resources: guaranteed: %.80q %s: only cpu can be set", name, q.String()))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request := r.Requests[name]
		if limit, ok := r.Limits[name]; ok && request.Cmp(limit) > 0 {
			bad = append(bad, fmt.Errorf("resources: the request of %s, %s, is over its limit, %s", name, request.String(), limit.String()))
		}
	}
	return bad
}

// validateDefaults returns one error for each default that would also be a problem as a pod's
// annotation, or that belongs elsewhere. what names the place of the defaults in the
// configuration.
func validateDefaults(what string, defaults map[string]string, elsewhere []string) []error {
	var bad []error
	settings := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		switch {
		case slices.Contains(ofPods, name):
			bad = append(bad, fmt.Errorf("%s: %s is for single pods: leave it out", what, name))
		case slices.Contains(elsewhere, name):
			bad = append(bad, fmt.Errorf("%s: %s is set by the configuration's image, resources and pullSecrets: leave it out", what, name))
		default:
			settings[ask.Prefix+name] = defaults[name]
		}
	}
	for _, p := range Read(settings, "", Config{}).Problems {
		bad = append(bad, errors.New(what+": "+strings.ReplaceAll(p, ask.Prefix, "")))
	}
	return bad
}

// measurable reports whether most can be a maximum of the setting.
func measurable(name, most string) bool {
	if a, ok := amountOf(name); ok {
		_, err := a.parse(most)
		return err == nil
	}
	_, err := quantity(name, most)
	return err == nil
}

// validatePolicy returns one error for each setting that the policy can't bound,
// and for each default over its maximum.
func (c Config) validatePolicy() []error {
	built := map[string]string{Buffer: defaultBuffer}
	flagsOf(new(sidecar.Config)).VisitAll(func(f *flag.Flag) { built[f.Name] = f.DefValue })
	var bad []error
	p := c.Policy
	for _, name := range p.Locked {
		if _, ok := built[name]; !ok && !slices.Contains(ask.AtAdmission(), name) || slices.Contains(owned, name) || slices.Contains(ofPods, name) || isAdopt(name) {
			bad = append(bad, fmt.Errorf("policy: locked: %.80q is not a setting of all pods", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Max)) {
		most := p.Max[name]
		if !measurable(name, most) {
			bad = append(bad, fmt.Errorf("policy: max: %.80q %.80q: it must be a setting that is a size, an amount or a duration, like buffer: 256Mi", name, most))
			continue
		}
		for _, ns := range slices.Concat([]string{""}, slices.Sorted(maps.Keys(c.Namespaces))) {
			in := "default"
			if ns != "" {
				in = fmt.Sprintf("default in %.80q", ns)
			}
			now := cmp.Or(c.defaultsIn(ns)[name], built[name])
			a, ok := amountOf(name)
			switch {
			case now == "" && ok && a.limit:
				bad = append(bad, fmt.Errorf("policy: max: %s: the %s has no limit: set one", name, in))
			case exceeds(name, now, most):
				bad = append(bad, fmt.Errorf("policy: max: %s: the %s, %s, is over %s: set a lower one", name, in, now, most))
			}
		}
	}
	return slices.Concat(bad, p.validateHatch(), p.validateSum())
}

// validateHatch refuses names that no pod could use.
func (p Policy) validateHatch() (bad []error) {
	for _, name := range p.Env {
		if _, err := parseVariables(name + "="); err != nil {
			bad = append(bad, fmt.Errorf("policy: env: %w", err))
		}
	}
	for _, field := range p.ContainerPatch {
		if !patchable(field) {
			bad = append(bad, fmt.Errorf("policy: containerPatch: %.40q is not a field of a container that a patch may change: leave it out", field))
		}
	}
	return bad
}

// validateSum refuses a bound on memory-limit without a bound on buffer: a pod could bypass it,
// because the buffer is added to the memory limit.
func (p Policy) validateSum() []error {
	const sum = "memory-limit"
	bounds := func(name string) bool { return slices.Contains(p.Locked, name) || p.Max[name] != "" }
	if bounds(sum) && !bounds(Buffer) {
		return []error{fmt.Errorf("policy: %s is limited, but %s, which is added to it, is not: limit both", sum, Buffer)}
	}
	return nil
}
