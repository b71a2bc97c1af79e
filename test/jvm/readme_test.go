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

// TestReadmeExample pastes the README's example into a shell, with directories
// and an address of the test's own.
func TestReadmeExample(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```sh\n(.*?)```").FindSubmatch(readme)
	if example == nil {
		t.Fatal("the README has no example")
	}
	source, err := os.MkdirTemp("/dev/shm", "ullage-readme-")
	if err != nil {
		source = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(source) })
	dirs := strings.NewReplacer("/dev/shm/jvm", source, "./durable", t.TempDir())
	addr := freeAddr(t)
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", dirs.Replace(string(example[1])))
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "ULLAGE_LISTEN="+addr, "ULLAGE_ADDR="+addr)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, stderr.String())
	}
	for _, want := range []string{"ready", "gc.log", "Using "} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the example does not print %q:\n%s\n%s", want, out, stderr.String())
		}
	}
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
