package inject

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/sidecar"
)

// Policy is what the annotations of pods may ask for. A pod that asks for more is
// injected with what it may have, and warned.
type Policy struct {
	// Locked are settings, by the name of their annotation without
	// [ask.Prefix], that no pod changes: the defaults count.
	Locked []string `json:"locked,omitempty"`

	// Max has the largest value of settings that are a size, an amount or a duration.
	Max map[string]string `json:"max,omitempty"`

	// Env are the names of environment variables that pods may set for their sidecars. Where
	// a policy bounds anything, these are all; without a policy, pods may set any.
	Env []string `json:"env,omitempty"`

	// ContainerPatch are the fields of the sidecar's container, such as lifecycle, that pods
	// may patch. Empty: none.
	ContainerPatch []string `json:"containerPatch,omitempty"`
}

// apply returns what a pod gets that asks for a value, and what to tell it.
func (p Policy) apply(name, asked, byDefault string) (value, warning string) {
	switch {
	case asked == "" || asked == byDefault:
		return byDefault, ""
	case slices.Contains(p.Locked, name):
		return byDefault, fmt.Sprintf("%s%s is fixed in this cluster, and %.80q is ignored", ask.Prefix, name, asked)
	}
	if most := p.Max[name]; most != "" && exceeds(name, asked, most) {
		return most, fmt.Sprintf("%s%s %.80q is over the maximum in this cluster: it is %s", ask.Prefix, name, asked, most)
	}
	return asked, ""
}

// guarantee makes the requests the limits, so that the pod stays Guaranteed. The
// policy's maximum of a request holds all the same. The limit of CPU is lowered to
// it. The limit of memory is not, because the kernel would kill a sidecar that fills
// its spool: the requests stay as they are, and the pod is not Guaranteed. The
// warning says which of both it is.
func (p Policy) guarantee(r *corev1.ResourceRequirements) (warning string) {
	over := func(name corev1.ResourceName) (most resource.Quantity, is bool) {
		most, err := resource.ParseQuantity(p.Max[string(name)+"-request"])
		return most, err == nil && most.Cmp(r.Limits[name]) < 0
	}
	if most, is := over(corev1.ResourceMemory); is {
		limit := r.Limits[corev1.ResourceMemory]
		return fmt.Sprintf("the pod is no longer of QoS class Guaranteed: the sidecar would have to request its limit of memory, %s, and the maximum of memory-request in this cluster is %s", limit.String(), most.String())
	}
	if most, is := over(corev1.ResourceCPU); is {
		warning = fmt.Sprintf("the sidecar's limit of cpu is %s, the maximum of cpu-request in this cluster: the pod is of QoS class Guaranteed, and requests its limits", most.String())
		r.Limits[corev1.ResourceCPU] = most
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		r.Requests[name] = r.Limits[name]
	}
	return warning
}

// atMost bounds a size that nobody has asked for by itself.
func (p Policy) atMost(name string, n settings.Size) settings.Size {
	if most, err := settings.ParseSize(p.Max[name]); err == nil {
		return min(n, most)
	}
	return n
}

// endless are settings for which zero means no bound, or another setting's.
var endless = []string{"budget", "retain-age", "retain-bytes", "upload-age", "yield-after"}

// exceeds compares two values of a setting. What can't be read is for others to
// refuse. A limit of zero is none.
func exceeds(name, value, most string) bool {
	if a, ok := amountOf(name); ok {
		q, err := a.parse(value)
		bound, errMost := a.parse(most)
		return err == nil && errMost == nil && (q.Cmp(bound) > 0 || q.IsZero() && a.limit)
	}
	a, err := quantity(name, value)
	b, errMost := quantity(name, most)
	return err == nil && errMost == nil && (a > b || a == 0 && slices.Contains(endless, name))
}

// quantity reads a value as that of a flag, or of buffer or events, which must be a size
// or a duration.
func quantity(name, text string) (int64, error) {
	var kind any = new(settings.Size)
	if name != bufferName && name != eventsName {
		cfg := sidecar.DefaultConfig()
		fs := flag.NewFlagSet("run", flag.ContinueOnError)
		cfg.Flags(fs)
		f := fs.Lookup(name)
		if f == nil {
			return 0, fmt.Errorf("%.80q is no flag", name)
		}
		kind = f.Value
		if g, ok := f.Value.(flag.Getter); ok {
			kind = g.Get()
		}
	}
	switch kind.(type) {
	case *settings.Size:
		n, err := settings.ParseSize(text)
		return int64(n), err
	case time.Duration:
		d, err := time.ParseDuration(text)
		return int64(d), err
	}
	return 0, fmt.Errorf("%s is neither a size nor a duration", name)
}

// measurable reports whether the setting can have such a maximum.
func measurable(name, most string) bool {
	if a, ok := amountOf(name); ok {
		_, err := a.parse(most)
		return err == nil
	}
	_, err := quantity(name, most)
	return err == nil
}

// validatePolicy returns one error for each setting that the policy can't be
// about. A default over its maximum would be had by whoever does not ask.
func (c Config) validatePolicy() []error {
	built := map[string]string{bufferName: defaultBuffer}
	cfg := sidecar.DefaultConfig()
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	cfg.Flags(fs)
	fs.VisitAll(func(f *flag.Flag) { built[f.Name] = f.DefValue })
	var bad []error
	p := c.Policy
	for _, name := range p.Locked {
		if _, ok := built[name]; !ok && !slices.Contains(ask.AtAdmission(), name) || slices.Contains(owned, name) || slices.Contains(ofPods, name) {
			bad = append(bad, fmt.Errorf("policy: locked: %.80q is not a setting of all pods", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Max)) {
		most := p.Max[name]
		if !measurable(name, most) {
			bad = append(bad, fmt.Errorf("policy: max: %.80q %.80q: it must be a setting that is a size, an amount or a duration, as buffer: 256Mi", name, most))
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

// validateSum refuses a bound of the memory of sidecars that any pod gets around: the buffer
// is added to the limit of memory.
func (p Policy) validateSum() []error {
	const sum = "memory-limit"
	bounds := func(name string) bool { return slices.Contains(p.Locked, name) || p.Max[name] != "" }
	if bounds(sum) && !bounds(bufferName) {
		return []error{fmt.Errorf("policy: %s is bounded, and %s, which is added to it, is not: bound both", sum, bufferName)}
	}
	return nil
}
