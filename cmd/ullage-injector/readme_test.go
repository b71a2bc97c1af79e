package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/base/cli"
)

// The README's lines for a pod template suffice for a Deployment that runs only a JVM: the sidecar is added without a
// warning.
func TestTheREADMEsPodTemplateIsInjectedWithoutAWarning(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(readme, -1)
	if len(blocks) != 1 {
		t.Fatalf("the README has %d examples in YAML, want 1", len(blocks))
	}
	template := strings.ReplaceAll(strings.TrimSpace(string(blocks[0][1])), "\n", "\n    ")
	deployment := `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    ` + template + `
      containers:
      - {name: app, image: registry.example/web:1, command: [java, -jar, web.jar]}
`
	var out, notes strings.Builder
	code := dispatch(t.Context(), []string{"inject", "--image", "registry.example/ullage:1", "-f", "-"}, cli.Env{
		Program: "ullage-injector", Stdin: strings.NewReader(deployment), Stdout: &out, Stderr: &notes,
		LookupEnv: func(string) (string, bool) { return "", false },
	})
	if want := "web: injected\n1 of 1 injected\n"; code != cli.OK || !strings.HasSuffix(notes.String(), want) || strings.Count(notes.String(), "\n") != 2 {
		t.Errorf("got %d and\n%s\nwant %d and\n…%s", code, notes.String(), cli.OK, want)
	}
	for _, want := range []string{"claimName: jvm-logs", "runAsUser: 1000"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
