package main

import (
	"context"
	"fmt"
)

// down removes only what up has made: the cluster if up started it, otherwise the injector and the two namespaces.
func (t *try) down(ctx context.Context) error {
	started := t.record().read()
	if started == starting {
		return t.stopCluster(ctx)
	}
	t.env = t.clusterEnv()
	if !t.clusterIsUp(ctx) {
		// The cluster that up started may not answer, for instance after a restart of the machine.
		if started != "" {
			return t.stopCluster(ctx)
		}
		fmt.Fprintln(t.errs, "try: no cluster is up: there is nothing to remove")
		return nil
	}
	if err := t.use(ctx); err != nil {
		return err
	}
	if started != "" {
		uid, err := t.uid(ctx)
		if err != nil {
			return err
		}
		if started == uid {
			return t.stopCluster(ctx)
		}
	}
	if err := t.step("removing the injector and the namespaces", "`make try-down` continues from there.", func() error { return t.uninstall(ctx) }); err != nil {
		return err
	}
	fmt.Fprintln(t.errs, "try: the cluster was up before `make try`, and stays; so do the images in its nodes")
	return t.record().forget()
}

func (t *try) stopCluster(ctx context.Context) error {
	t.env = t.clusterEnv()
	if err := t.step("removing the cluster that `make try` started", "See test/cluster/README.md.", func() error {
		_, err := t.script(ctx, clusterScript, "down")
		return err
	}); err != nil {
		return err
	}
	fmt.Fprintf(t.errs, "try: what was built stays in bin and %s\n", t.cache)
	return t.record().forget()
}

// uninstall removes the release and the namespaces that try has made. The release goes first: its webhook is not in a
// namespace.
func (t *try) uninstall(ctx context.Context) error {
	for _, name := range []string{system, namespace} {
		mark, err := t.mark(ctx, name)
		if err != nil {
			return err
		}
		if mark != markValue {
			fmt.Fprintf(t.errs, "try: there is no namespace %s that `make try` created\n", name)
			continue
		}
		if name == system {
			if _, err := t.call(ctx, "", "helm", "uninstall", release, "--namespace", system, "--ignore-not-found", "--wait"); err != nil {
				return err
			}
		}
		if _, err := t.kubectl(ctx, "delete", "namespace", name, "--timeout=2m"); err != nil {
			return err
		}
	}
	return nil
}
