package inject

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/ullage/ullage/internal/jvm/ask"
)

// Values of Config.OnError.
const (
	Allow = "allow"
	Deny  = "deny"
)

// Config is what is the same for all pods. Take it from [DefaultConfig] or
// [LoadConfig]. As YAML or JSON its keys are those of the tags.
type Config struct {
	// Image is the sidecar's, with its registry and its tag or digest. A name
	// without a registry would be one of docker.io, where anybody may have taken
	// it, and CRI-O refuses it.
	Image string `json:"image"`

	// ImagePullPolicy is Always, IfNotPresent or Never. Empty: as the cluster
	// does by default.
	ImagePullPolicy string `json:"imagePullPolicy,omitempty"`

	// OnError says what becomes of a pod that can't be injected: it starts as
	// it is, with a warning ([Allow]), or is refused ([Deny]).
	OnError string `json:"onError,omitempty"`

	// Resources are those of each sidecar. The limit of memory grows with
	// ullage.dev/buffer, and by 8 MiB for each sink.
	Resources Resources `json:"resources,omitempty"`

	// Defaults are settings of all sidecars, by the name of their annotation
	// without [ask.Prefix]. A pod's own annotation wins.
	Defaults map[string]string `json:"defaults,omitempty"`

	// Policy bounds what the annotations of pods may ask for.
	Policy Policy `json:"policy,omitzero"`

	// PullSecrets are names of Secrets that a pod gets beside its own, for the
	// sidecar's image. They are of the pod's namespace; the kubelet ignores one
	// that is not there.
	PullSecrets []string `json:"pullSecrets,omitempty"`

	// Namespaces are settings of the sidecars of single namespaces, by the
	// namespace's name and as in Defaults, before which they count. They may also
	// set what the fields above set for all: image, image-pull-secrets,
	// cpu-request, memory-limit and so on.
	Namespaces map[string]map[string]string `json:"namespaces,omitempty"`
}

// Resources are what a container asks for, and what it may take: of cpu, memory
// and ephemeral-storage.
type Resources struct {
	Requests corev1.ResourceList `json:"requests,omitempty"`
	Limits   corev1.ResourceList `json:"limits,omitempty"`

	// Guaranteed has the CPU time that the sidecar of a pod of QoS class Guaranteed requests,
	// and is limited to. It takes the place of the CPU limit above, which would be requested
	// there: the request counts for autoscalers, quotas and the scheduler. A limit that the pod or
	// its namespace sets wins.
	Guaranteed corev1.ResourceList `json:"guaranteed,omitempty"`
}

// DefaultConfig returns the documented defaults. It lacks an image. It has no
// limit of CPU time: a sidecar that is throttled falls behind. In a pod of QoS class
// Guaranteed there must be one: 50m suffice for 20,000 lines a second, and a backlog is
// caught up with at 46,000 (docs/kubernetes.md, Requests and limits).
func DefaultConfig() Config {
	return Config{
		OnError: Allow,
		Resources: Resources{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("20m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},

			Guaranteed: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m")},
		},
	}
}

// maxConfig bounds a configuration file.
const maxConfig = 1 << 20

// LoadConfig reads a Config as YAML or JSON. What is not in it has its default,
// each resource by itself. An unknown key is an error. The result is not yet
// validated.
func LoadConfig(r io.Reader) (Config, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxConfig+1))
	if err != nil {
		return Config{}, fmt.Errorf("read the configuration: %w", err)
	}
	if len(text) > maxConfig {
		return Config{}, fmt.Errorf("read the configuration: it is longer than %d MiB", maxConfig>>20)
	}
	cfg := DefaultConfig()
	if err := yaml.UnmarshalStrict(text, &cfg); err != nil {
		return Config{}, fmt.Errorf("read the configuration: %w", err)
	}
	return cfg, nil
}

// What an API server takes as the name of most objects. An image is what is not
// empty and has no space; only a registry knows more.
var (
	subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	image     = regexp.MustCompile(`^[!-~]+$`)
)

func isName(s string) bool { return len(s) <= 253 && subdomain.MatchString(s) }

// qualified says whether the name of an image begins with a registry.
func qualified(name string) bool {
	registry, rest, ok := strings.Cut(name, "/")
	return ok && rest != "" && (registry == "localhost" || strings.ContainsAny(registry, ".:"))
}

func checkImage(name string) error {
	if !image.MatchString(name) || !qualified(name) || len(name) > 2*maxValue {
		return errors.New("name the sidecar's image with its registry, as registry.example/ullage:v1 or localhost/ullage:v1")
	}
	return nil
}

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
		if !isName(name) {
			bad = append(bad, fmt.Errorf("pullSecrets: %.80q is not the name of a Secret", name))
		}
	}
	bad = append(bad, validateDefaults("defaults", c.Defaults, append(ofContainers(), ofPods...))...)
	for _, ns := range slices.Sorted(maps.Keys(c.Namespaces)) {
		if !isName(ns) {
			bad = append(bad, fmt.Errorf("namespaces: %.80q is not the name of a namespace", ns))
			continue
		}
		bad = append(bad, validateDefaults("namespaces: "+ns, c.Namespaces[ns], ofPods)...)
	}
	return slices.Concat(bad, c.Resources.validate(), c.validatePolicy())
}

// ValidateForAll is Validate, for a configuration that is for the pods of all
// namespaces: it also refuses a default that would stop some of them.
func (c Config) ValidateForAll() []error {
	bad := c.Validate()
	if kind, _, _ := strings.Cut(strings.TrimSpace(c.Defaults[destName]), ":"); kind == "pvc" {
		bad = append(bad, errors.New("defaults: dest: a pod in a namespace without the claim would never start: leave it out, and let pods ask for a claim of theirs"))
	}
	return bad
}

// validate refuses what makes an API server refuse the whole pod.
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
			bad = append(bad, fmt.Errorf("resources: guaranteed: %.80q %s: only an amount of cpu can be set", name, q.String()))
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

// ofPods are annotations that make no sense for all pods.
var ofPods = append(ask.Live(), "inject", "injected", "warnings", "container")

// validateDefaults returns one error for each of the settings that no pod could
// ask for as well, or that belongs elsewhere. What says where they are.
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
	_, problems := readWishes(settings, nil, Policy{})
	for _, p := range problems {
		bad = append(bad, errors.New(what+": "+strings.ReplaceAll(p, ask.Prefix, "")))
	}
	return bad
}
