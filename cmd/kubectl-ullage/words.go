package main

import (
	"context"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/cli"
)

const (
	// wordsTimeout limits a call of kubectl for candidates, because a shell waits for it.
	wordsTimeout = 3 * time.Second

	maxWords = 4 << 20 // bytes of names
)

// words returns functions that list the candidates for completing a target or the value of a flag. They ask the cluster
// that the preceding flags name, except for contexts, which are in the kubeconfig.
func (c *cluster) words(ctx context.Context) cli.Words {
	namespaces := func() []string { return c.names(ctx, "get", "namespaces", "--output=name") }
	return cli.Words{
		"":          func() []string { return c.targets(ctx) },
		"namespace": namespaces,
		"n":         namespaces,
		"context":   func() []string { return c.names(ctx, "config", "get-contexts", "--output=name") },
	}
}

// targets returns the pods and the workloads of the namespace, by one call. A user who may not list workloads gets
// the pods.
func (c *cluster) targets(ctx context.Context) []string {
	if all := c.names(ctx, "get", "pods,deployments.apps,statefulsets.apps", "--output=name"); len(all) > 0 {
		return all
	}
	return c.names(ctx, "get", "pods", "--output=name")
}

// names returns the names that kubectl prints. The name of a workload begins with its kind, as in deploy/web. A failed
// call yields no names, because a shell has no place for an error.
func (c *cluster) names(ctx context.Context, args ...string) []string {
	limit, cancel := context.WithTimeout(ctx, wordsTimeout)
	defer cancel()
	out, err := c.run(limit, maxWords, args...)
	if err != nil {
		return nil
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		name := strings.TrimSpace(line)
		for _, prefix := range []string{"pod/", "namespace/"} {
			name = strings.TrimPrefix(name, prefix)
		}
		if t, err := parseTarget(name); err == nil && t.kind != podKind {
			name = kinds[t.kind].short + "/" + t.name
		}
		names = append(names, name)
	}
	return names
}
