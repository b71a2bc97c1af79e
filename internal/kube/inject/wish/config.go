package wish

import (
	"fmt"
	"io"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// Values of Config.OnError.
const (
	Allow = "allow"
	Deny  = "deny"
)

// Config holds the settings that are the same for all pods. Get one from
// [DefaultConfig] or [LoadConfig]. The tags are its keys in YAML and JSON.
type Config struct {
	// Image is the sidecar's image, with its registry and its tag or digest. A name without a
	// registry would mean docker.io, where anyone may own the name; CRI-O refuses such a name.
	Image string `json:"image"`

	// ImagePullPolicy is Always, IfNotPresent or Never. If empty, the cluster's
	// default applies.
	ImagePullPolicy string `json:"imagePullPolicy,omitempty"`

	// OnError says what happens to a pod that can't be injected: it starts as
	// it is, with a warning ([Allow]), or is denied ([Deny]).
	OnError string `json:"onError,omitempty"`

	// Resources are the resources of each sidecar. The size in ullage.dev/buffer, and
	// 12 MiB for each sink, are added to the memory limit.
	Resources Resources `json:"resources,omitempty"`

	// Defaults are settings of all sidecars, by the name of their annotation without [ask.Prefix].
	// A pod's own annotation takes precedence.
	Defaults map[string]string `json:"defaults,omitempty"`

	// Policy bounds what the annotations of pods may ask for.
	Policy Policy `json:"policy,omitzero"`

	// PullSecrets are names of Secrets for the sidecar's image, which a pod gets
	// in addition to its own. They are in the pod's namespace; the kubelet ignores
	// a missing Secret.
	PullSecrets []string `json:"pullSecrets,omitempty"`

	// Namespaces are settings for single namespaces, by the namespace's name. They have the form
	// of Defaults and take precedence over them. They may also replace the image, the pull secrets
	// and the resources in the fields above: image, image-pull-secrets, cpu-request, memory-limit
	// and so on.
	Namespaces map[string]map[string]string `json:"namespaces,omitempty"`
}

// DefaultConfig returns the documented defaults, without an image. The scheduler reserves the
// requests for each pod, so they are what a sidecar needs for a usual log: 2.3m at 10 lines a
// second, 7m at 1,000, and 9 MiB (docs/benchmarks/measured.md, A fleet, on paper). The limits
// leave room for more. There is no limit of CPU time: a throttled sidecar falls behind. A pod
// of QoS class Guaranteed must have a limit: 50m is enough for 20,000 lines a second, and to work
// off a backlog at 46,000 lines a second (docs/pods.md, Requests and limits).
func DefaultConfig() Config {
	return Config{
		OnError: Allow,
		Resources: Resources{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("5m"), corev1.ResourceMemory: resource.MustParse("16Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},

			Guaranteed: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m")},
		},
	}
}

// maxConfig bounds a configuration file.
const maxConfig = 1 << 20

// LoadConfig reads a Config from YAML or JSON. Each missing resource has its
// default. An unknown key is an error. The result is not validated yet.
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

// defaultsIn returns the default settings of a pod in the namespace, by name.
func (c Config) defaultsIn(namespace string) map[string]string {
	all := map[string]string{imageSetting: c.Image, secretsSetting: strings.Join(c.PullSecrets, ",")}
	for _, a := range amounts() {
		if q, ok := (*a.in(&c.Resources))[a.resource]; ok {
			all[a.name] = q.String()
		}
	}
	maps.Copy(all, c.Defaults)
	maps.Copy(all, c.Namespaces[namespace])
	return all
}
