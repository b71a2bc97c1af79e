package wish

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/names"
)

// Container holds the settings of the sidecar's container.
type Container struct {
	Image       string
	PullPolicy  corev1.PullPolicy
	PullSecrets []string

	// Resources are the resources that were asked for. Their memory limit does not include [Container.Memory].
	Resources Resources

	// Memory is added to the memory limit.
	Memory settings.Size

	// CPULimit is the configuration's CPU limit for all sidecars, or zero.
	CPULimit resource.Quantity

	// Most has the largest requests that the policy allows for a sidecar.
	Most corev1.ResourceList

	Hatch Hatch
}

// maxSecrets bounds the pull secrets of a sidecar.
const maxSecrets = 8

// readContainer reads the settings of the container. added is the memory to add to its limit.
func readContainer(r *reader, cfg Config, added settings.Size) (Container, []string) {
	c := Container{
		PullPolicy: corev1.PullPolicy(cfg.ImagePullPolicy),
		Resources:  Resources{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}, Guaranteed: cfg.Resources.Guaranteed},
		Memory:     added,
		CPULimit:   cfg.Resources.Limits[corev1.ResourceCPU],
		Most:       cfg.Policy.most(),
	}
	if c.Image = r.value(imageSetting); c.Image != "" {
		r.check(imageSetting, checkImage(c.Image))
	}
	for _, name := range strings.FieldsFunc(r.value(secretsSetting), func(r rune) bool { return r == ',' || r == ' ' }) {
		if !names.IsName(name) || len(c.PullSecrets) == maxSecrets {
			r.check(secretsSetting, fmt.Errorf("name at most %d Secrets of the pod's namespace: write it like one,other", maxSecrets))
			break
		}
		c.PullSecrets = append(c.PullSecrets, name)
	}
	for _, a := range amounts() {
		text := r.value(a.name)
		if text == "" {
			continue
		}
		q, err := a.parse(text)
		if err == nil {
			err = checkBound(q)
		}
		r.check(a.name, err)
		if none := a.limit && q.IsZero(); err == nil && !none { // for an API server, 0 would be a limit
			(*a.in(&c.Resources))[a.resource] = q
		}
	}
	return c, c.lowerRequests()
}

// lowerRequests lowers each request that is over its limit. Otherwise, the API server would
// refuse the pod.
func (c *Container) lowerRequests() (warnings []string) {
	r := &c.Resources
	for _, a := range amounts() {
		request, limit := r.Requests[a.resource], r.Limits[a.resource]
		if a.resource == corev1.ResourceMemory && limit.Sign() > 0 {
			limit = Plus(limit, c.Memory)
		}
		if a.limit || limit.Sign() == 0 || request.Cmp(limit) <= 0 {
			continue
		}
		r.Requests[a.resource] = limit
		warnings = append(warnings, fmt.Sprintf("%s%s: %s exceeds the limit and was lowered to %s", ask.Prefix, a.name, request.String(), limit.String()))
	}
	return warnings
}
