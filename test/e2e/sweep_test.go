package e2e

import (
	"errors"
	"strings"
	"sync"
)

const (
	// made is the label of the suite's namespaces, and of the objects that it creates outside them.
	madeKey, madeValue = "app.kubernetes.io/created-by", "ullage-e2e"
	made               = madeKey + "=" + madeValue

	// drained is the label of a node while a test drains it.
	drained = "e2e.ullage.dev/drained"
)

// sweep removes the leftovers of an interrupted run from the cluster: namespaces whose JVMs still run, volumes,
// webhooks, and a release that helm considers to be in the middle of an upgrade. It also uncordons a drained node.
func sweep() error {
	names, err := kubectl("", "get", "namespaces", "-l", made, "-o", "jsonpath={.items[*].metadata.name}")
	if err != nil {
		return err
	}
	// A pod whose process 1 ignores SIGTERM would keep its namespace for its grace period.
	var work sync.WaitGroup
	left := strings.Fields(names)
	errs := make([]error, len(left))
	for i, name := range left {
		work.Go(func() { _, errs[i] = kubectl("", "-n", name, "delete", "pods", "--all", "--now", "--wait=false") })
	}
	work.Wait()
	for _, args := range [][]string{
		{"delete", "namespaces", "-l", made, "--timeout=3m"},
		{"delete", "persistentvolumes,mutatingwebhookconfigurations", "-l", made, "--wait=false"},
		{"uncordon", "-l", drained},
		{"label", "nodes", "-l", drained, drained + "-"},
	} {
		_, err := kubectl("", args...)
		errs = append(errs, err)
	}
	if !installed {
		_, err := helm("uninstall", release, "-n", system, "--wait", "--ignore-not-found", "--timeout", installIn.String())
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
