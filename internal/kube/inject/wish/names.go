package wish

import (
	"slices"

	"github.com/ullage/ullage/internal/jvm/ask"
)

// Names of annotations that say how to inject, without [ask.Prefix]. Some are also flags of the
// sidecar, whose value the injector chooses. The comments become a table in docs/pods.md.
const (
	// The JVM's container ([by default the likeliest](#which-container-has-the-jvm)), or several:
	// `app,worker`. Each gets its own sidecar: `ullage`, `ullage-2`, …
	Containers = "container"

	// What the JVM logs from its start: by default `gc*=info,safepoint=info`.
	Xlog = "xlog"

	// [The variable](#the-variable-for-the-jvms-options) with which the JVM gets its options, by
	// default `JDK_JAVA_OPTIONS`; or `off`.
	OptionsVariable = "options-variable"

	// The size of the tmpfs: by default `64Mi`.
	Buffer = "buffer"

	// `true` raises the memory limit of the JVM's container by the size of the tmpfs: [memory](#memory).
	RaiseMemoryLimit = "raise-memory-limit"

	// The size of the ring for the application's [events](events.md), such as `2Mi`, which is added to
	// the tmpfs: by default `off`.
	Events = "events"

	// [Where lines become durable](#destinations): `emptyDir` (the default), `pvc:CLAIM`,
	// `volume:NAME[/DIR]` or `ephemeral:SIZE[:CLASS]`.
	Dest = "dest"

	// `leave` lets the JVM keep its counter file for `jps` and `jstat`: by default `off`.
	Perfdata = "perfdata"

	// `off` leaves out the `prometheus.io/` annotations: by default `on`.
	ScrapeAnnotations = "scrape-annotations"

	// How the sidecar reaches the JVM: `shared-tmp` (the default), `process-namespace` or `off`.
	Attach = "attach"

	Listen     = "listen"
	YieldAfter = "yield-after"

	// The sidecar's image, including its registry.
	imageSetting = "image"

	// Pull secrets in the pod's namespace for that image: `one,other`.
	secretsSetting = "image-pull-secrets"

	// A Secret in the pod's namespace with the credentials and files for its
	// [sinks](sinks.md#in-kubernetes).
	sinkSecretSetting = "sink-secret"

	// Environment variables of the sidecar: [what no setting covers](#what-no-setting-covers).
	envSetting = "env"

	// Other fields of the sidecar's container: [what no setting covers](#what-no-setting-covers).
	patchSetting = "container-patch"
)

// owned are flags that only the injector sets. The last three say whose log it is: a pod that
// could choose them could write to another pod's logs.
var owned = []string{"source", "annotations", "jvm-tmp", "pod-namespace", "pod-name", "container-name"}

// ofPods are annotations that can't be defaults.
var ofPods = append(slices.DeleteFunc(ask.Live(), isAdopt), "inject", "injected", "warnings", Containers)

// isAdopt reports whether name is adopt, the only live annotation that may be a default.
func isAdopt(name string) bool { return name == ask.Adopt }

// ofContainers returns the names of the sidecar's settings for which the configuration has
// fields.
func ofContainers() []string {
	names := []string{imageSetting, secretsSetting}
	for _, a := range amounts() {
		names = append(names, a.name)
	}
	return names
}
