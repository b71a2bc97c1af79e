// Package e2e tests ullage as its users run it: installed with helm into a real cluster, in pods with real JVMs, with
// kubectl for everything.
//
// `make e2e` starts a cluster if there is none (see test/cluster), loads the images into it and runs the suite, which
// is the same for every cluster. The suite needs Kubernetes 1.29 or later, the rights of an administrator, and a
// cluster without a release of ullage, except one of an earlier run. The suite first removes the leftovers of an
// interrupted run. Without `make e2e` the tests are skipped, with a message: no test may touch a cluster merely
// because one is configured.
//
// Tests that stop or replace the injector run one after the other. All other tests run afterwards, in parallel, each
// in its own namespace. They mostly wait. On a small machine each kubectl is expensive, so a shell in a container
// does the waiting if it can (see until), and one pod on each node serves all tests.
//
// # The independent truth
//
// As in test/jvm, a JVM has a second output of the same selection and
// decorations, which ullage never sees, in a volume of the pod. With the serial
// collector the two outputs are the same, byte for byte.
package e2e
