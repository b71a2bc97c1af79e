package plan

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/inject/pod"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// proxies are the names of containers that meshes, agents and other tools add to pods. None of them is a JVM.
var proxies = []string{
	"istio-proxy", "linkerd-proxy", "envoy", "envoy-sidecar", "kuma-sidecar", "consul-dataplane", "consul-connect-envoy-sidecar",
	"vault-agent", "cloud-sql-proxy", "cloudsql-proxy", "oauth2-proxy", "queue-proxy", "daprd", "datadog-agent", "trace-agent",
	"otc-container", "jaeger-agent", "fluent-bit", "filebeat", "gke-gcsfuse-sidecar",
}

// launcher matches the java program in a command or in a line of shell script.
var launcher = regexp.MustCompile(`(^|[\s/;&|"'(])java($|[\s"');&|])`)

// runsJava reports whether the command of c visibly starts a JVM.
func runsJava(c corev1.Container) bool {
	return slices.ContainsFunc(slices.Concat(c.Command, c.Args), launcher.MatchString)
}

// hasJavaEnv reports whether c has variables that only a JVM, or a script that starts one, reads.
func hasJavaEnv(c corev1.Container) bool {
	return slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool {
		return strings.HasPrefix(e.Name, "JAVA_") || strings.HasPrefix(e.Name, "JDK_") || strings.HasPrefix(e.Name, "BPL_JVM_") ||
			strings.HasSuffix(e.Name, "_JAVA_OPTS") || e.Name == "CATALINA_OPTS"
	})
}

// choose returns the indexes of the containers with a JVM. It tries the following in order: the
// containers that the annotation names; the containers of an earlier refusal; kubectl's default
// container; the only container that visibly runs a JVM; the only container; and the first container.
// An earlier refusal matters because the API server calls the webhook again after other webhooks have
// added containers: a pod that was rightly refused must not get a sidecar for an added container. A
// known proxy is chosen only by name.
func choose(p *pod.Pod, names []string, earlier ask.Status, n *notes) []int {
	indexes, unknown := find(p, names)
	if len(unknown) > 0 {
		n.refuse(ask.BadAnnotation, "%s%s %.80q: the pod has no such container", ask.Prefix, wish.Containers, unknown[0])
		return nil
	}
	if len(names) == 0 && earlier.Refused != "" {
		indexes, _ = find(p, earlier.Containers[:min(len(earlier.Containers), wish.MaxJVMs)]) // the status is untrusted
	}
	if len(indexes) == 0 {
		indexes = likeliest(p, n)
	}
	return indexes
}

// find returns the indexes of the named containers, each once, and the names that no container has.
func find(p *pod.Pod, names []string) (indexes []int, unknown []string) {
	for _, name := range names {
		switch i := slices.IndexFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == name }); {
		case i < 0:
			unknown = append(unknown, name)
		case !slices.Contains(indexes, i):
			indexes = append(indexes, i)
		}
	}
	return indexes, unknown
}

// likeliest chooses a container for a pod that does not name any.
func likeliest(p *pod.Pod, n *notes) []int {
	var all []int
	for i, c := range p.Spec.Containers {
		if !slices.Contains(proxies, c.Name) {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		n.refuse(ask.Unsuitable, "all containers of the pod are known proxies and agents: name the JVM's container, with %s%s", ask.Prefix, wish.Containers)
		return nil
	}
	only := func(is func(corev1.Container) bool) int {
		found := -1
		for _, i := range all {
			if is(p.Spec.Containers[i]) {
				if found >= 0 {
					return -1
				}
				found = i
			}
		}
		return found
	}
	byDefault := only(func(c corev1.Container) bool { return c.Name == p.Annotations[pod.DefaultMark] })
	java := only(runsJava)
	if java < 0 {
		java = only(hasJavaEnv)
	}
	i := all[0]
	switch {
	case byDefault >= 0:
		i = byDefault
	case java >= 0:
		i = java
	}
	if len(all) > 1 && i != java {
		n.warn("of %d containers, %.80q was chosen as the JVM's: confirm that, or name another, with %s%s",
			len(p.Spec.Containers), p.Spec.Containers[i].Name, ask.Prefix, wish.Containers)
	}
	return []int{i}
}
