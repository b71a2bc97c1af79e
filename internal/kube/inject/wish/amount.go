package wish

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ullage/ullage/internal/base/settings"
)

// Resources are the requests and limits of a container, for cpu, memory and
// ephemeral-storage.
type Resources struct {
	Requests corev1.ResourceList `json:"requests,omitempty"`
	Limits   corev1.ResourceList `json:"limits,omitempty"`

	// Guaranteed has the CPU request and limit of the sidecar of a pod of QoS class Guaranteed. It
	// replaces the CPU limit above, which would otherwise also be the request: autoscalers, quotas
	// and the scheduler use the request. A limit that the pod or its namespace sets takes
	// precedence.
	Guaranteed corev1.ResourceList `json:"guaranteed,omitempty"`
}

// amount is a setting that is a request or a limit of the sidecar.
type amount struct {
	name     string
	resource corev1.ResourceName
	limit    bool
}

// amounts returns all amounts. A request precedes the limit of its resource.
func amounts() []amount {
	var all []amount
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		all = append(all, amount{string(name) + "-request", name, false}, amount{string(name) + "-limit", name, true})
	}
	return all
}

// amountOf returns the amount with the name.
func amountOf(name string) (amount, bool) {
	all := amounts()
	i := slices.IndexFunc(all, func(a amount) bool { return a.name == name })
	if i < 0 {
		return amount{}, false
	}
	return all[i], true
}

// in returns the list of r to which the amount belongs.
func (a amount) in(r *Resources) *corev1.ResourceList {
	if a.limit {
		return &r.Limits
	}
	return &r.Requests
}

// checkBound refuses an amount so large that a sum with others could overflow.
func checkBound(q resource.Quantity) error {
	if most := Plus(resource.Quantity{}, AsGoodAsNone); q.Cmp(most) > 0 {
		return fmt.Errorf("it is over %s: write a smaller value", most.String())
	}
	return nil
}

// parse reads a quantity. It refuses fractions of a byte: people who write 64m
// mean 64Mi.
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

// AsGoodAsNone is a bound that nothing reaches, but that is far from an overflow.
const AsGoodAsNone settings.Size = 1 << 50

// Plus returns the sum of a quantity and more bytes.
func Plus(q resource.Quantity, more settings.Size) resource.Quantity {
	return resource.MustParse((settings.Size(q.Value()) + more).String())
}
