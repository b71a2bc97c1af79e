package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestReadme pastes the README's example for Kubernetes into a shell, from
// helm install on. What is different is where images come from: helm gets the
// values of the suite, and the program runs on the suite's JDK.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```sh\n(helm install.*?)```").FindSubmatch(readme)
	if example == nil {
		t.Fatal("the README has no example that begins with helm install")
	}
	if out, err := helm("uninstall", release, "-n", system, "--wait"); err != nil {
		t.Fatal(err, out)
	}
	t.Cleanup(func() {
		_, _ = kubectl("", "delete", "-f", "../../deploy/examples/demo.yaml", "--wait=false")
		if err := install(); err != nil {
			t.Error(err)
		}
	})
	values := "'" + strings.Join(chartValues(), "' '") + "'"
	shim := "helm() { if [ \"$1\" = install ]; then command helm \"$@\" " + values + "; else command helm \"$@\"; fi; }\n"
	began := time.Now()
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", shim+string(example[1]))
	cmd.Dir = checkout(t)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	figures.add("the README's example, from helm install to scraped", time.Since(began).Round(time.Second).String(), "5m0s")
	for _, want := range []string{
		"state:        ready", "gc*=debug until", "[debug][gc", `ullage_persisted_lines_total{level="debug",stream="gc-1.log"}`,
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it does not print %q:\n%s", want, out)
		}
	}
}

// checkout returns a directory that looks like the repository to the example.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	charts, err := filepath.Abs("../../charts")
	if err != nil {
		t.Fatal(err)
	}
	demo, err := os.ReadFile("../../deploy/examples/demo.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(demo), "image: docker.io/library/eclipse-temurin:25", "image: localhost/jdk:17", 1)
	for _, err := range []error{
		os.Symlink(charts, filepath.Join(dir, "charts")),
		os.MkdirAll(filepath.Join(dir, "deploy/examples"), 0o755),
		os.WriteFile(filepath.Join(dir, "deploy/examples/demo.yaml"), []byte(text), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
