package wish

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/sink/address"
)

// Bounds of the settings env and container-patch.
const (
	maxVariables = 32
	maxHatch     = 4 << 10 // bytes of a value
)

// Hatch is what the settings env and container-patch add to the sidecars of a pod.
type Hatch struct {
	variables map[string]string
	patches   []map[string]any // of the container, first the default and then the pod's
}

// readHatch reads env and container-patch, both the defaults and the pod's. The pod's variables
// and patch are added to the defaults.
func readHatch(r *reader) (h Hatch, warnings []string) {
	check := func(name string, err error) {
		if err != nil {
			r.problem("%s%s: %s", ask.Prefix, name, err)
		}
	}
	asked := func(name string) string {
		if slices.Contains(r.policy.Locked, name) {
			r.value(name) // only for the warning
			return ""
		}
		return r.asked(name)
	}
	var err error
	h.variables, err = parseVariables(r.byDefault(envSetting))
	check(envSetting, err)
	own, err := parseVariables(asked(envSetting))
	check(envSetting, err)
	var denied []string
	for name := range own {
		if r.policy.isOn() && !slices.Contains(r.policy.Env, name) {
			denied = append(denied, name)
			delete(own, name)
		}
	}
	if len(denied) > 0 {
		slices.Sort(denied)
		warnings = append(warnings, fmt.Sprintf("%s%s: pods may not set %s in this cluster (policy.env): it is ignored", ask.Prefix, envSetting, strings.Join(denied, ", ")))
	}
	maps.Copy(h.variables, own)

	for _, source := range []struct {
		text    string
		allowed func(field string) bool
	}{
		{r.byDefault(patchSetting), patchable},
		{asked(patchSetting), func(field string) bool { return slices.Contains(r.policy.ContainerPatch, field) }},
	} {
		patch, err := parsePatch(source.text)
		check(patchSetting, err)
		for _, field := range slices.Sorted(maps.Keys(patch)) {
			if !source.allowed(field) {
				delete(patch, field)
				warnings = append(warnings, fmt.Sprintf("%s%s: pods may not change %.40q of the sidecar in this cluster (policy.containerPatch): it is ignored", ask.Prefix, patchSetting, field))
			}
		}
		if len(patch) > 0 {
			h.patches = append(h.patches, patch)
		}
	}
	return h, warnings
}

// Variables in the path of the pod's directory in a shared volume.
const (
	PodNamespace = "POD_NAMESPACE"
	PodName      = "POD_NAME"
)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// parseVariables reads environment variables of the form NAME=VALUE, separated by white space.
// It refuses three kinds of variables: those of settings, because the policy bounds only their
// annotations; those in the path of a pod's directory in a shared volume, because the injector
// sets them; and credentials of sinks, because everyone who may read pods would see them.
func parseVariables(text string) (map[string]string, error) {
	all := map[string]string{}
	if len(text) > maxHatch {
		return all, fmt.Errorf("it has %d bytes, at most %d are allowed", len(text), maxHatch)
	}
	for _, one := range strings.Fields(text) {
		name, value, ok := strings.Cut(one, "=")
		switch {
		case !ok || !variableName.MatchString(name):
			return all, fmt.Errorf("%.80q is not a variable: write it like HTTPS_PROXY=http://proxy:3128 NO_PROXY=.svc", one)
		case strings.HasPrefix(name, settings.EnvPrefix):
			return all, fmt.Errorf("%.80q is a setting: use its annotation", name)
		case name == PodNamespace || name == PodName:
			return all, fmt.Errorf("the injector sets %s: leave it out", name)
		case slices.ContainsFunc(address.Schemes(), func(scheme string) bool { return slices.Contains(address.Credentials(scheme), name) }):
			return all, fmt.Errorf("%s is a credential: put it into the Secret that %s%s names", name, ask.Prefix, sinkSecretSetting)
		case len(all) == maxVariables:
			return all, fmt.Errorf("it has more than %d variables", maxVariables)
		}
		all[name] = value
	}
	return all, nil
}

// EnvVar returns a variable with exactly this value: the kubelet expands $(NAME) and reads $$ as $.
func EnvVar(name, value string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, Value: strings.ReplaceAll(value, "$", "$$")}
}

// settled are the fields of a container that no patch can change: the fields that make it the
// sidecar of this pod, and the fields that have settings, which the policy bounds.
var settled = []string{"name", "restartPolicy", "image", "env", "envFrom", "resources"}

// patchable reports whether a patch may change the field of a container.
func patchable(field string) bool {
	for i := range reflect.TypeFor[corev1.Container]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[corev1.Container]().Field(i).Tag.Get("json"), ",")
		if name == field {
			return !slices.Contains(settled, field)
		}
	}
	return false
}

// parsePatch reads a container patch from JSON and applies it to an empty container as a test.
func parsePatch(text string) (map[string]any, error) {
	var patch map[string]any
	switch {
	case text == "":
		return nil, nil
	case len(text) > maxHatch:
		return nil, fmt.Errorf("it has %d bytes, at most %d are allowed", len(text), maxHatch)
	case json.Unmarshal([]byte(text), &patch) != nil || patch == nil:
		return nil, errors.New(`it is not a JSON object: write it like {"lifecycle":{"preStop":{"sleep":{"seconds":5}}}}`)
	}
	for _, field := range slices.Sorted(maps.Keys(patch)) {
		if !patchable(field) {
			return nil, fmt.Errorf("%.40q is not a field of a container that a patch may change: leave it out", field)
		}
	}
	_, err := patched(corev1.Container{}, patch)
	return patch, err
}

// Apply adds the variables to the container of a sidecar, applies the patches, and returns the result. A pod can't
// change a variable that the sidecar already has.
func (h Hatch) Apply(c corev1.Container) corev1.Container {
	for _, name := range slices.Sorted(maps.Keys(h.variables)) {
		if !slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == name }) {
			c.Env = append(c.Env, EnvVar(name, h.variables[name]))
		}
	}
	for _, patch := range h.patches {
		if after, err := patched(c, patch); err == nil { // parsePatch has checked the patch
			c = after
		}
	}
	return c
}

// patched merges a patch into a container as kubectl does: objects by member (null removes a
// member), volumeMounts by mountPath and ports by containerPort. Every other list is replaced.
func patched(c corev1.Container, patch map[string]any) (corev1.Container, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return c, fmt.Errorf("encode the container: %w", err)
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return c, fmt.Errorf("read the container: %w", err)
	}
	keys := map[string]string{"volumeMounts": "mountPath", "ports": "containerPort"}
	for field, value := range patch {
		if list, ok := value.([]any); ok && keys[field] != "" {
			old, _ := tree[field].([]any)
			tree[field] = mergeList(old, list, keys[field])
			continue
		}
		tree[field] = merge(tree[field], value)
	}
	if text, err = json.Marshal(tree); err != nil {
		return c, fmt.Errorf("encode the patched container: %w", err)
	}
	var after corev1.Container
	strict, err := kjson.UnmarshalStrict(text, &after)
	if err = errors.Join(append(strict, err)...); err != nil {
		return c, fmt.Errorf("it does not fit a container: %w", err)
	}
	return after, nil
}

// merge returns old with the members of patch, or patch if it is not an object.
func merge(old, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, _ := old.(map[string]any)
	result := maps.Clone(object)
	if result == nil {
		result = map[string]any{}
	}
	for name, value := range changes {
		if value == nil {
			delete(result, name)
			continue
		}
		result[name] = merge(result[name], value)
	}
	return result
}

// mergeList merges each element of patch into the element of old with the same key, or appends it.
func mergeList(old, patch []any, key string) []any {
	result := slices.Clone(old)
	for _, element := range patch {
		same := func(other any) bool {
			a, _ := element.(map[string]any)
			b, _ := other.(map[string]any)
			return a[key] != nil && reflect.DeepEqual(a[key], b[key])
		}
		if i := slices.IndexFunc(result, same); i >= 0 {
			result[i] = merge(result[i], element)
		} else {
			result = append(result, element)
		}
	}
	return result
}
