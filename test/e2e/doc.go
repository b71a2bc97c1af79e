// Package e2e tests ullage as its users have it: installed with helm into a
// real cluster, in pods with real JVMs, with kubectl for everything.
//
// `make e2e` starts a cluster where there is none (see test/cluster), loads the
// images into it and runs the suite, which does not know which cluster it got.
// It needs Kubernetes 1.29 or later, no release of ullage in the cluster but that of an
// earlier run, and the rights of an administrator. It begins by removing what a run that
// was interrupted has left. Without `make e2e` the tests are skipped, with a word on
// that: no test may touch a cluster just since one is configured.
//
// Tests that stop or replace the injector run one after the other. All others
// are parallel, each in a namespace of its own, and begin when those are done. They
// mostly wait, but on a small machine each kubectl counts: what a shell in a container
// can wait for, it does (see until), and a pod on each node serves all tests.
//
// # The independent truth
//
// As in test/jvm, a JVM has a second output of the same selection and
// decorations, which ullage never sees, in a volume of the pod. With the serial
// collector the two are the same, byte for byte.
package e2e
