// Package ask defines what annotations, triggers and commands may ask of a JVM. It
// defines the labels and annotations on pods that people and the programs of this project
// exchange: their names, the requests in the live ones ([ParseRequest],
// [ParseAnnotations]), and the annotations that the injector writes ([Status]). A
// [Selection] is what a JVM is to log, as -Xlog and VM.log take it,
// "gc*=debug,safepoint=info": every one is safe to send to a running JVM.
//
// The package imports nothing of the sidecar, so that programs for other systems than
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

	// WarningsAnnotation is what the [Status] says to people, as [Status.Text]. kubectl describe
	// shows only the first 138 bytes of the status itself.
	WarningsAnnotation = Prefix + "warnings"

	// InjectedLabel is "true" on a pod that has sidecars, so that selectors find such pods: those of
	// kubectl, of a NetworkPolicy and of a scrape job. Labels and annotations are separate maps: the
	// label and the annotation called injected say the same, each in the form that its map allows.
	InjectedLabel = Prefix + "injected"
)

// AtAdmission returns the names, without [Prefix], of the annotations that only
// configure the injection. The others are live, or flags of the sidecar.
func AtAdmission() []string {
	return []string{"inject", "injected", "warnings", "container", "xlog", "buffer", "events", "options-variable", "perfdata", "scrape-annotations", "sink-secret", "env", "container-patch", "raise-memory-limit",
		"image", "image-pull-secrets", "cpu-request", "cpu-limit", "memory-request", "memory-limit", "ephemeral-storage-request", "ephemeral-storage-limit"}
}
