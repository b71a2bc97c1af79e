package wish

import (
	"flag"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/sidecar"
)

// Policy bounds what the annotations of pods may ask for. A pod that asks for more is injected
// with the allowed values. It gets a warning, which is also shown to its creator.
type Policy struct {
	// Locked are settings, by the name of their annotation without
	// [ask.Prefix], that no pod can change: the defaults apply.
	Locked []string `json:"locked,omitempty"`

	// Max has the largest allowed value of settings that are a size, an amount or a duration.
	Max map[string]string `json:"max,omitempty"`

	// Env has the names of environment variables that pods may set for their sidecars. If the
	// policy bounds anything, pods may set no other variables; without a policy, they may set any.
	Env []string `json:"env,omitempty"`

	// ContainerPatch are the fields of the sidecar's container, such as lifecycle, that pods
	// may patch. If empty, they may patch none.
	ContainerPatch []string `json:"containerPatch,omitempty"`
}

// apply returns the value that a pod gets if it asks for the value asked, and a warning if the
// two differ.
func (p Policy) apply(name, asked, byDefault string) (value, warning string) {
	switch {
	case asked == "" || asked == byDefault:
		return byDefault, ""
	case slices.Contains(p.Locked, name):
		return byDefault, fmt.Sprintf("%s%s is fixed in this cluster: %.80q is ignored", ask.Prefix, name, asked)
	}
	if most := p.Max[name]; most != "" && exceeds(name, asked, most) {
		return most, fmt.Sprintf("%s%s %.80q exceeds this cluster's maximum and was lowered to %s", ask.Prefix, name, asked, most)
	}
	return asked, ""
}

// atMost returns n, or the policy's maximum for the setting if that is smaller.
func (p Policy) atMost(name string, n settings.Size) settings.Size {
	if most, err := settings.ParseSize(p.Max[name]); err == nil {
		return min(n, most)
	}
	return n
}

// endless are settings for which zero means no bound, or the bound of another setting.
var endless = []string{"budget", "retain-age", "retain-bytes", "upload-age", "yield-after"}

// exceeds reports whether a value of a setting is over its maximum. A value that
// can't be read is refused elsewhere. A limit of zero means no limit.
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

// quantity reads the value of buffer, events or a flag, which must be a size or a
// duration.
func quantity(name, text string) (int64, error) {
	var kind any = new(settings.Size)
	if name != Buffer && name != Events {
		f := flagsOf(new(sidecar.Config)).Lookup(name)
		if f == nil {
			return 0, fmt.Errorf("%.80q is not a flag", name)
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
		d, err := settings.ParseDuration(text)
		return int64(d), err
	}
	return 0, fmt.Errorf("%s is neither a size nor a duration", name)
}

// isOn reports whether the policy bounds anything.
func (p Policy) isOn() bool {
	return len(p.Locked)+len(p.Max)+len(p.Env)+len(p.ContainerPatch) > 0
}

// most returns the largest amounts that pods may request.
func (p Policy) most() corev1.ResourceList {
	all := corev1.ResourceList{}
	for _, a := range amounts() {
		if q, err := resource.ParseQuantity(p.Max[a.name]); err == nil && !a.limit {
			all[a.resource] = q
		}
	}
	return all
}
