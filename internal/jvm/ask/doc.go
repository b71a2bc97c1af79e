// Package ask defines what annotations, triggers and commands may ask of a JVM. It defines the
// labels and annotations of pods through which people and the programs of this project
// communicate: their names, the requests in the live annotations ([ParseRequest],
// [ParseAnnotations]), and the annotations that the injector writes ([Status]). A [Selection] is
// what a JVM is to log, in the form of -Xlog and VM.log, such as "gc*=debug,safepoint=info". Every
// Selection is safe to send to a running JVM.
//
// The package imports no part of the sidecar, so that programs for operating systems other than
// Linux can use it.
package ask

// Prefix begins the names of our labels and annotations.
const Prefix = "ullage.dev/"

// Names of labels and annotations.
const (
	InjectLabel        = Prefix + "inject"    // of a pod: "true" opts in, "false" opts out
	NamespaceLabel     = Prefix + "injection" // of a namespace: NamespaceEnabled opts in
	NamespaceEnabled   = "enabled"
	InjectedAnnotation = Prefix + "injected" // of a pod: a [Status]

	// WarningsAnnotation is the text of the [Status] for people, see [Status.Text]. kubectl
	// describe shows only the first 138 bytes of the status itself.
	WarningsAnnotation = Prefix + "warnings"

	// InjectedLabel is "true" on a pod that has sidecars, so that the selectors of kubectl, of a
	// NetworkPolicy and of a scrape job can find such pods. Labels and annotations are separate
	// maps, so this label and [InjectedAnnotation] can share a name. Each says, in the form that its
	// map allows, whether the pod has sidecars.
	InjectedLabel = Prefix + "injected"
)

// AtAdmission returns the names, without [Prefix], of the annotations that only configure the
// injection. All other annotations are live or set flags of the sidecar.
func AtAdmission() []string {
	return []string{"inject", "injected", "warnings", "container", "xlog", "buffer", "events", "options-variable", "perfdata", "scrape-annotations", "sink-secret", "env", "container-patch", "raise-memory-limit",
		"image", "image-pull-secrets", "cpu-request", "cpu-limit", "memory-request", "memory-limit", "ephemeral-storage-request", "ephemeral-storage-limit"}
}
