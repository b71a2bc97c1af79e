package inject

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ullage/ullage/internal/jvm/ask"
)

// containerWishes are what the sidecar's container is made of.
type containerWishes struct {
	image       string
	pullSecrets []string
	resources   Resources
}

// Names of the settings of the container. No flag has one of them.
const (
	imageSetting   = "image"
	secretsSetting = "image-pull-secrets"
)

// amount is a setting that is a request or a limit of the sidecar.
type amount struct {
	name     string
	resource corev1.ResourceName
	limit    bool
}

// amounts lists them. A request stands before the limit of its resource.
func amounts() []amount {
	var all []amount
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		all = append(all, amount{string(name) + "-request", name, false}, amount{string(name) + "-limit", name, true})
	}
	return all
}

// amountOf returns the amount of that name.
func amountOf(name string) (amount, bool) {
	all := amounts()
	i := slices.IndexFunc(all, func(a amount) bool { return a.name == name })
	if i < 0 {
		return amount{}, false
	}
	return all[i], true
}

// in returns the list of r that the amount is in.
func (a amount) in(r *Resources) *corev1.ResourceList {
	if a.limit {
		return &r.Limits
	}
	return &r.Requests
}

// checkBound refuses an amount that overflows where others are added to it.
func checkBound(q resource.Quantity) error {
	if most := plus(resource.Quantity{}, asGoodAsNone); q.Cmp(most) > 0 {
		return fmt.Errorf("it is over %s: write a smaller one", most.String())
	}
	return nil
}

// parse reads a quantity. A byte has no parts, but 64m is how people who mean
// 64Mi write it.
func (a amount) parse(text string) (resource.Quantity, error) {
	q, err := resource.ParseQuantity(text)
	if err == nil && q.Sign() >= 0 && (a.resource == corev1.ResourceCPU || q.Cmp(*resource.NewQuantity(q.Value(), q.Format)) == 0) {
		return q, nil
	}
	if a.resource == corev1.ResourceCPU {
		return q, errors.New("it is not an amount of CPU time: write it like 100m")
	}
	return q, errors.New("it is not a size: write it like 64Mi")
}

// ofContainers are the settings of the container, by name.
func ofContainers() []string {
	names := []string{imageSetting, secretsSetting}
	for _, a := range amounts() {
		names = append(names, a.name)
	}
	return names
}

// defaultsIn returns what a pod of the namespace gets that asks for nothing, by
// the names of settings.
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

// readContainer reads the settings of the container.
func (w *wishes) readContainer(value func(string) string, check func(name string, err error)) {
	if w.container.image = value(imageSetting); w.container.image != "" {
		check(imageSetting, checkImage(w.container.image))
	}
	for _, name := range strings.FieldsFunc(value(secretsSetting), func(r rune) bool { return r == ',' || r == ' ' }) {
		if !isName(name) || len(w.container.pullSecrets) == maxSecrets {
			check(secretsSetting, fmt.Errorf("name at most %d Secrets of the pod's namespace: write it like one,other", maxSecrets))
			break
		}
		w.container.pullSecrets = append(w.container.pullSecrets, name)
	}
	w.container.resources = Resources{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}
	for _, a := range amounts() {
		text := value(a.name)
		if text == "" {
			continue
		}
		q, err := a.parse(text)
		if err == nil {
			err = checkBound(q)
		}
		check(a.name, err)
		if none := a.limit && q.IsZero(); err == nil && !none { // an API server takes a limit of 0 for one
			(*a.in(&w.container.resources))[a.resource] = q
		}
	}
}

// maxSecrets bounds the pull secrets of a sidecar.
const maxSecrets = 8

// lowerRequests lowers each request that is over its limit: the API server would
// refuse the pod.
func (w *wishes) lowerRequests() {
	r := &w.container.resources
	for _, a := range amounts() {
		request, limit := r.Requests[a.resource], r.Limits[a.resource]
		if a.resource == corev1.ResourceMemory && limit.Sign() > 0 {
			limit = plus(limit, w.addedMemory())
		}
		if a.limit || limit.Sign() == 0 || request.Cmp(limit) <= 0 {
			continue
		}
		r.Requests[a.resource] = limit
		w.warnings = append(w.warnings, fmt.Sprintf("%s%s %s is over the limit: it is %s", ask.Prefix, a.name, request.String(), limit.String()))
	}
}
