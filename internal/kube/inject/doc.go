// Package inject decides what a pod needs so that the JVMs in it log to a tmpfs
// with a sidecar for each, and returns that as a JSON patch (RFC 6902). [Mutate]
// does it for one pod, as an admission webhook has it; package manifest does it
// for the pods and pod templates of a YAML file. Both are pure: no clock, no
// network, no environment.
//
// The way of a pod, one package a step:
//
//	pod       read it: its containers, volumes, ports and nodes
//	wish      read its annotations, and the defaults and the policy of the cluster
//	plan      decide, as values: what is added, warned of, refused
//	patch     write the plan as operations on the pod's JSON
//	manifest  do those operations to the pods of a YAML file
//
// # What is added
//
//	volumes         ullage-logs     tmpfs of the size ullage.dev/buffer
//	                ullage-tmp      the JVM's /tmp, unless it has a volume there that will do
//	                ullage-podinfo  the pod's annotations, by the downward API
//	                ullage-dest     the durable copy, ullage.dev/dest, unless the pod has that claim
//	initContainers  ullage          the native sidecar (restartPolicy Always)
//	the JVM's       volumeMounts    /var/log/jvm, and /tmp
//	container       env             JDK_JAVA_OPTIONS, appended to its value
//	annotations     ullage.dev/injected, ullage.dev/warnings, prometheus.io/{scrape,port,path}
//	labels          ullage.dev/injected, for selectors
//
// With several JVM containers ("ullage.dev/container: a,b"), each has a sidecar
// of its own: `ullage run` ships one directory and speaks to the JVMs that
// share one /tmp. The names for the second one end in -2: ullage-2,
// ullage-logs-2. Its port is the next one, called ullage-metrics2 (a name of 15
// characters, as many as there may be); prometheus.io/port has room for the
// first alone. Its durable files are in a directory named as its JVM's
// container.
//
// A setting comes from the pod's annotation, else from the defaults of the pod's
// namespace, else from those of all pods; [wish.Policy] bounds the first. The image,
// the pull secrets and the resources of the sidecar are settings like the others.
//
// The settings are in the sidecar's environment and not in its arguments, so
// that `kubectl exec POD -c ullage -- ullage levels …` has them as well.
//
// # What is left as it is
//
// The patch appends to lists, and adds members and lists that are not there. It has two kinds of replace,
// each with a test operation of the old value before it. One is of the memory limit of a JVM's container,
// only if ullage.dev/raise-memory-limit asks for it. The other is of the value of JDK_JAVA_OPTIONS (or of the
// variable that ullage.dev/options-variable names): a second variable of the same name would work, but
// server-side apply may drop either of the two. The patch never writes back what was read, so fields that are
// newer than our API types stay.
//
// A sidecar is appended to the init containers. The pod's own init containers
// end before the sidecar starts, so it does nothing for a JVM among them.
//
// A pod that has our annotation and our container is left alone, except for a
// lost restartPolicy. So a webhook may be asked twice, and an injected manifest
// may be applied where there is a webhook.
//
// # All or nothing
//
// A bad annotation, a volume or a container with one of our names, or something
// mounted where the log directory must be: then the pod is not changed at all,
// and OnError of [wish.Config] says whether it may start. What merely takes something away
// (no known user: no level control) is a warning that says how to get it.
//
// # No probes
//
// An API server refuses a pod that has a probe on an ordinary init container,
// and that is what the sidecar becomes where another webhook, built with types
// from before 1.28, drops its restartPolicy. Under a mesh with strict mTLS the
// kubelet's HTTP requests are refused, and a liveness probe would kill the
// sidecar every few minutes. A crash needs no probe, and a stall is in the
// metrics. A startup probe would delay the JVM by its period, a second at least, and the
// JVM need not wait: what it writes to the tmpfs is still there when the sidecar
// starts. A readiness probe of a sidecar counts for the pod: a failing disk
// would take the application out of service.
//
// # A sidecar without its restartPolicy
//
// When we are asked again about a pod that has lost a sidecar's restartPolicy, we
// add it again ([plan.Repair]). Another webhook may drop it again after that. So
// such a sidecar is set to exit with 0 when no JVM writes, because the JVM is then
// waiting for that exit.
package inject
