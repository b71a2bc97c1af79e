package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestReadme runs the README's example for Kubernetes in a shell, unchanged. Afterwards everything that the example
// created is gone, and the suite's own injector still runs.
func TestReadme(t *testing.T) {
	t.Parallel() // the example has its own namespaces and injector
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```sh\n(make try\n.*?)```").FindSubmatch(readme)
	if example == nil {
		t.Fatal("the README has no example that begins with make try")
	}
	out := paste(t, "the README's example, from make try to make try-down", string(example[1]))
	for _, want := range []string{
		"raised: 1 of 1 pods", "gc*=debug(", "[debug][gc", "the cluster was up before",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the example does not print %q:\n%s", want, out)
		}
	}
	left, err := kubectl("", "get", "namespaces,mutatingwebhookconfigurations", "-o", "name")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(left, "try") {
		t.Errorf("after make try-down, the cluster still has\n%s", left)
	}
	if err := injects(time.Minute); err != nil {
		t.Errorf("the suite's injector no longer injects: %v", err)
	}
}

// paste runs an example in the root of the checkout and returns its output.
func paste(t *testing.T, what, example string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			_ = exec.Command("make", "-C", root, "try-down").Run()
		}
	})
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", example)
	cmd.Dir = root
	cmd.WaitDelay = 10 * time.Second // its children may keep the pipe
	// With the version of the suite's images, the build is quick. The variables of make are removed, as in a
	// user's shell: a make inside another make prints the directory that it enters.
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "MAKE") || strings.HasPrefix(v, "MFLAGS=")
	}), "VERSION="+imageVersion)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	figures.add(what, time.Since(began).Round(time.Second).String(), "2m0s")
	return string(out)
}
