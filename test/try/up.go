package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	namespace = "ullage-try"        // of the Java pod
	system    = "ullage-try-system" // of the injector
	// The API server calls the injectors in the order of their names: this one comes before an injector called
	// ullage, which then finds the pods injected.
	release = "try-ullage"

	// mark is the label of namespaces that try made and may remove.
	markKey, markValue = "app.kubernetes.io/created-by", "ullage-try"

	demo = "deploy/examples/demo.yaml"
	// demoImage is the image of the example, which the local cluster cannot pull.
	demoImage  = "docker.io/library/eclipse-temurin:25"
	localImage = "localhost/jdk:17"
)

// up makes everything, each step on top of the earlier ones. What already exists stays, so a second up only applies
// what has changed in the checkout.
func (t *try) up(ctx context.Context) error {
	next := fmt.Sprintf("`make try%[1]s` continues from there, `make try-down%[1]s` removes what it made.", again())
	began := time.Now()
	var lines string
	for _, s := range []struct {
		name, hint string
		do         func(context.Context) error
	}{
		{"cluster", "CLUSTER=kind needs a Docker or podman that answers, CLUSTER=local needs Linux and root; see test/cluster/README.md.", t.cluster},
		{"images", next, t.images},
		{"injector", "Look with: kubectl -n " + system + " get pods,events\n" + next, t.install},
		{"Java pod", "Look with: kubectl -n " + namespace + " get pods,events. If the node cannot pull the image: make try JAVA_IMAGE=...\n" + next, t.deploy},
		{"raise", next, t.raise},
		{"persisted lines", next, func(ctx context.Context) (err error) {
			lines, err = t.persisted(ctx)
			return err
		}},
	} {
		if err := t.step(s.name, s.hint, func() error { return s.do(ctx) }); err != nil {
			return err
		}
	}
	fmt.Fprintf(t.errs, "try: all of it: %.1f s\n", time.Since(began).Seconds())
	return t.report(ctx, lines)
}

// images builds and loads the images, including the Java pod's if nothing can be pulled.
func (t *try) images(ctx context.Context) error {
	archives := []string{"bin/ullage.tar", "bin/ullage-injector.tar"}
	if t.java == "" && t.kind() == "local" {
		java, err := t.script(ctx, "test/cluster/images.sh", "jdk17")
		if err != nil {
			return err
		}
		t.java, archives = localImage, append(archives, java)
	}
	// The nodes' architecture differs from that of this Go program under Rosetta, or if the daemon is on another
	// machine.
	arch, err := t.script(ctx, clusterScript, "arch")
	if err != nil {
		return err
	}
	t.env = append(t.env, "VERSION="+t.version, "ARCH="+arch)
	if _, err := t.script(ctx, "deploy/image/build.sh", "tar"); err != nil {
		return err
	}
	_, err = t.script(ctx, clusterScript, append([]string{"load"}, archives...)...)
	return err
}

// install installs the chart and waits until a new pod is injected: the API server may be unable to reach a new
// injector until a moment after the injector is ready.
func (t *try) install(ctx context.Context) error {
	for _, name := range []string{namespace, system} {
		if err := t.own(ctx, name); err != nil {
			return err
		}
	}
	only := `webhook.namespaceSelector=[{"key":"kubernetes.io/metadata.name","operator":"In","values":["` + namespace + `"]}]`
	tag := strings.ReplaceAll(t.version, "+", "-")
	if _, err := t.call(ctx, "", "helm", "upgrade", "--install", release, "charts/ullage", "--namespace", system,
		"--set", "registry=localhost", "--set-string", "image.tag="+tag+",sidecar.image.tag="+tag,
		"--set-json", only, "--wait", "--timeout", "3m"); err != nil {
		return err
	}
	var last error
	err := poll(ctx, time.Minute, func() bool {
		var injected string
		injected, last = t.kubectl(ctx, "--namespace", namespace, "run", "probe", "--image=probe", "--labels=ullage.dev/inject=true",
			"--dry-run=server", "--output", `jsonpath={.metadata.annotations.ullage\.dev/injected}`)
		return injected != ""
	})
	if err != nil {
		return errors.Join(fmt.Errorf("wait until the API server calls the injector: %w", err), last)
	}
	return nil
}

// own creates a namespace, or takes an existing one that try has made.
func (t *try) own(ctx context.Context, name string) error {
	mark, err := t.mark(ctx, name)
	switch {
	case err != nil:
		return err
	case mark == markValue:
		return nil
	case mark != "":
		return fmt.Errorf("the namespace %s is there already, and was not made by `make try`: rename or remove it", name)
	}
	manifest, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": name, "labels": map[string]string{markKey: markValue}}})
	if err != nil {
		return err
	}
	_, err = t.call(ctx, string(manifest), "kubectl", "create", "-f", "-")
	return err
}

// mark returns who made a namespace: markValue, another value, or nothing if the namespace does not exist.
func (t *try) mark(ctx context.Context, name string) (string, error) {
	labels, err := t.kubectl(ctx, "get", "namespace", name, "--ignore-not-found", "--output", `jsonpath={.metadata.name} {.metadata.labels.app\.kubernetes\.io/created-by}`)
	if err != nil || labels == "" {
		return "", err
	}
	_, mark, _ := strings.Cut(labels, " ")
	if mark == "" {
		mark = "unknown"
	}
	return mark, nil
}

// deploy applies the example with an image that the cluster has.
func (t *try) deploy(ctx context.Context) error {
	text, err := os.ReadFile(filepath.Join(t.root, demo))
	if err != nil {
		return fmt.Errorf("read the example: %w", err)
	}
	manifest := string(text)
	if t.java != "" {
		manifest = strings.Replace(manifest, "image: "+demoImage, "image: "+t.java, 1)
	}
	if _, err := t.call(ctx, manifest, "kubectl", "--namespace", namespace, "apply", "-f", "-"); err != nil {
		return err
	}
	_, err = t.kubectl(ctx, "--namespace", namespace, "rollout", "status", "deployment/demo", "--timeout=5m")
	return err
}

// raise makes the JVM log more for a minute. The kubelet may pass the annotation on only at its next sync, up to 90 s
// later.
func (t *try) raise(ctx context.Context) error {
	out, err := t.call(ctx, "", t.plugin(), "--namespace", namespace, "levels", "deploy/demo", "gc*=debug", "--for", "1m", "--timeout", "2m")
	if err == nil {
		fmt.Fprintln(t.errs, out)
	}
	return err
}

// persisted returns some of the persisted lines that the raise has added.
func (t *try) persisted(ctx context.Context) (string, error) {
	pod, err := t.pod(ctx)
	if err != nil {
		return "", err
	}
	var added []string
	var last error
	err = poll(ctx, time.Minute, func() bool {
		var text string
		text, last = t.call(ctx, "", t.plugin(), "--namespace", namespace, "logs", pod, "--since", "10s")
		added = nil
		for line := range strings.Lines(text) {
			if strings.Contains(line, "[debug]") {
				added = append(added, line)
			}
		}
		return len(added) > 0
	})
	if err != nil {
		return "", errors.Join(fmt.Errorf("a line at debug: %w", err), last)
	}
	return strings.Join(added[max(0, len(added)-3):], ""), nil
}

// pod returns the name of the youngest Java pod.
func (t *try) pod(ctx context.Context) (string, error) {
	names, err := t.kubectl(ctx, "--namespace", namespace, "get", "pods", "--selector", "app=demo", "--sort-by", ".metadata.creationTimestamp", "--output", "jsonpath={.items[*].metadata.name}")
	if err != nil {
		return "", err
	}
	all := strings.Fields(names)
	if len(all) == 0 {
		return "", errors.New("the Java pod is gone")
	}
	return all[len(all)-1], nil
}

const report = `A JVM writes its log to a tmpfs in the pod %[2]s, and a sidecar persists it.
The last lines that the raised level added:
  %[3]s

Look further:
  eval "$(make -s try-env%[4]s)"    # kubectl, helm, the plugin, and their cluster
  kubectl ullage --namespace %[1]s status
  kubectl ullage --namespace %[1]s logs %[2]s -f
  kubectl ullage --namespace %[1]s levels %[2]s 'gc*=trace' --for 1m
  kubectl --namespace %[1]s exec %[2]s -c ullage -- ullage status
Try a workload of your own there: label its pod template ullage.dev/inject: "true".
Remove all of it: make try-down%[4]s
`

// report prints the persisted lines and what to do next.
func (t *try) report(ctx context.Context, lines string) error {
	pod, err := t.pod(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(t.out, report, namespace, pod, strings.ReplaceAll(strings.TrimSpace(lines), "\n", "\n  "), again())
	return err
}
