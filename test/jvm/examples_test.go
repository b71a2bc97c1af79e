package jvm

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestExamples pastes each example of the documents that needs no cluster into
// a shell, with directories and an address of the test's own. (test/e2e pastes
// the one that needs a cluster.)
func TestExamples(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []struct {
		page string
		want []string
	}{
		{"README.md", []string{"ready", "gc.log", "Using "}}, // builds what the other one runs
		{"docs/levels.md", []string{"all=off,gc*=info → all=off,gc*=info,gc*=debug", "log level restored", "[debug]"}},
	} {
		t.Run(e.page, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, e.page))
			if err != nil {
				t.Fatal(err)
			}
			examples := regexp.MustCompile("(?s)```sh\n([^`]*bin/ullage run.*?)```").FindAllSubmatch(text, -1)
			if len(examples) != 1 {
				t.Fatalf("the page has %d examples, not one", len(examples))
			}
			out := paste(t, root, string(examples[0][1]))
			for _, line := range e.want {
				if !strings.Contains(out, line) {
					t.Errorf("the example does not print %q:\n%s", line, out)
				}
			}
		})
	}
}

// paste runs an example in the root of the repository and returns its output.
func paste(t *testing.T, root, example string) string {
	t.Helper()
	source, err := os.MkdirTemp("/dev/shm", "ullage-readme-")
	if err != nil {
		source = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(source) })
	work := t.TempDir()
	dirs := strings.NewReplacer("/dev/shm/jvm", source, "bin/ullage", filepath.Join(root, "bin/ullage"))
	addr := freeAddr(t)
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", strings.ReplaceAll(dirs.Replace(example), "make build", "make -C "+root+" build"))
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "ULLAGE_LISTEN="+addr, "ULLAGE_ADDR="+addr)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, stderr.String())
	}
	return string(out) + stderr.String()
}

// freeAddr returns an address on which nobody listens now.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
