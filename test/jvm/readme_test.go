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

// TestReadmeExamples pastes each of the README's examples that need no cluster
// into a shell, with directories and an address of the test's own. (The one that
// needs a cluster is pasted in test/e2e.)
func TestReadmeExamples(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```sh\n([^`]*bin/ullage run.*?)```").FindAllSubmatch(readme, -1)
	for i, want := range [][]string{
		{"ready", "gc.log", "Using "},
		{"all=off,gc*=info → all=off,gc*=info,gc*=debug", "log level restored", "[debug]"},
	} {
		if i >= len(examples) {
			t.Fatalf("the README has %d examples", len(examples))
		}
		out := paste(t, root, string(examples[i][1]))
		for _, text := range want {
			if !strings.Contains(out, text) {
				t.Errorf("example %d does not print %q:\n%s", i, text, out)
			}
		}
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
