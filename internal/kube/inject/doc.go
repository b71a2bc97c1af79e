// Package inject creates the JSON patch (RFC 6902) that makes each JVM in a pod log to a tmpfs and gives it a
// sidecar. [Mutate] does this for a pod in an admission webhook; package manifest does it for the pods and
// pod templates in a YAML file. Both are pure: they use no clock, network or environment.
//
// A pod passes through these packages, one for each step:
//
//	pod       read the pod: its containers, volumes, ports and nodes
//	wish      read its annotations, and the cluster's defaults and policy
//	plan      decide what to add, what to warn of and what to refuse
//	patch     write the plan as operations on the pod's JSON
//	manifest  apply those operations to the pods of a YAML file
//
// # What is added
//
//	volumes         ullage-logs     a tmpfs of the size in ullage.dev/buffer
//	                ullage-tmp      the JVM's /tmp, unless it has a suitable volume there
//	                ullage-podinfo  the pod's annotations, from the downward API
//	                ullage-dest     the durable copy, ullage.dev/dest, unless the pod has that claim
//	initContainers  ullage          the native sidecar (restartPolicy Always)
//	the JVM's       volumeMounts    /var/log/jvm, and /tmp
//	container       env             JDK_JAVA_OPTIONS, appended to its value
//	annotations     ullage.dev/injected, ullage.dev/warnings, prometheus.io/{scrape,port,path}
//	labels          ullage.dev/injected, for selectors
//
// With several JVM containers ("ullage.dev/container: a,b"), each has its own sidecar: `ullage run` ships one
// directory and speaks to the JVMs that share one /tmp. The names for the second JVM end in -2: ullage-2,
// ullage-logs-2. The second sidecar uses the next port, called ullage-metrics2 (15 characters, the longest
// possible name of a port); prometheus.io/port can only name the first port. The sidecar's durable files are
// in a directory named after its JVM's container.
//
// A setting is taken from the pod's annotation, or else from the defaults of the pod's namespace, or else
// from the defaults of all pods. [wish.Policy] bounds the annotation. The image, pull secrets and resources
// of the sidecar are ordinary settings.
//
// The settings are in the sidecar's environment, not in its arguments, so that
// `kubectl exec POD -c ullage -- ullage levels …` has them too.
//
// # What is left as it is
//
// The patch appends to lists, and adds missing members and lists. It replaces only two kinds of value, each
// after an operation that tests the old value. One is the memory limit of a JVM's container, and a request
// equal to it, if ullage.dev/raise-memory-limit asks for that. The other is the value of JDK_JAVA_OPTIONS
// (or of the variable that ullage.dev/options-variable names): a second variable of the same name would
// work, but server-side apply may drop either variable. The patch never writes back a whole object that was
// read, so fields that are newer than our API types stay.
//
// A sidecar is appended to the init containers. The pod's own init containers
// end before the sidecar starts, so the sidecar does nothing for a JVM among them.
//
// A pod that has our annotation and our container is not changed, except to restore a lost restartPolicy. So
// an API server may call the webhook twice, and an injected manifest may be applied in a cluster with the
// webhook.
//
// # All or nothing
//
// If the pod has a bad annotation, a volume or a container with one of our names, or a mount at the log
// directory, the patch adds only annotations, which give the reason, and OnError of [wish.Config] decides
// whether the pod may start. If only a feature is lost (no level control without a known user), a warning
// says how to get it.
//
// # No probes
//
// An API server refuses a pod that has a probe on an ordinary init container. The sidecar becomes an ordinary
// init container if another webhook, built with types from before 1.28, drops its restartPolicy. In a mesh
// with strict mTLS, the kubelet's HTTP requests are refused, so a liveness probe would kill the sidecar every
// few minutes. A crash needs no probe, and the metrics show a stall. A startup probe would delay the JVM by
// at least the probe's period of one second, and the JVM need not wait: its log is still on the tmpfs when
// the sidecar starts. The readiness probe of a sidecar affects the readiness of the pod: a failing disk would
// take the application out of service.
//
// # A sidecar without its restartPolicy
//
// When the API server calls the injector again for a pod whose sidecar has lost its restartPolicy, the
// injector restores it ([plan.Repair]). The other webhook may then drop it again. So such a sidecar is
// configured to exit with 0 if no JVM writes a log: without the restartPolicy, the JVM starts only after that
// exit.
package inject
