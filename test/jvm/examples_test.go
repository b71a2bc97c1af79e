package jvm

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestExamples runs each documented example that needs no cluster in a shell, with the test's own
// directories and address. (test/e2e runs the example that needs a cluster.)
func TestExamples(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []struct {
		page string
		want []string
	}{
		{"docs/getting-started.md", []string{"ready", "gc.log", "Using "}}, // builds the program that the other example runs
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

// TestTheREADMEsFirstCommands runs the first commands of the README. Git takes this tree, with its uncommitted
// changes, in place of the public repository.
func TestTheREADMEsFirstCommands(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```sh\n(git clone .*?)```").FindSubmatch(readme)
	if example == nil {
		t.Fatal("the README has no example that begins with git clone")
	}
	out := run(t, t.TempDir(), string(example[1]),
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url."+repository(t, root)+".insteadOf", "GIT_CONFIG_VALUE_0=https://github.com/ullage/ullage")
	for _, want := range []string{"lost", "twice", "The JVM lists the same as before"} {
		if !strings.Contains(out, want) {
			t.Errorf("the demos do not print %q:\n%s", want, out)
		}
	}
}

// repository creates a repository with one commit, which has all files below root that git does not ignore.
func repository(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	run(t, root, `git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' f; do if [ -e "$f" ]; then printf '%s\0' "$f"; fi; done |
		tar --null --files-from=- --create | tar --extract --directory `+dir)
	run(t, dir, `git init --quiet --initial-branch main && git add --all &&
		git -c user.name=test -c user.email=test@localhost commit --quiet --message 'the tree under test'`)
	return dir
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
	addr := freeAddr(t)
	own := strings.NewReplacer("/dev/shm/jvm", source, "bin/ullage", filepath.Join(root, "bin/ullage"),
		"127.0.0.1:9919", addr, "make build", "make -C "+root+" build")
	return run(t, work, own.Replace(example), "ULLAGE_LISTEN="+addr, "ULLAGE_ADDR="+addr)
}

// run passes commands to a shell in dir, with further settings in its environment, and returns what they print.
func run(t *testing.T, dir, commands string, env ...string) string {
	t.Helper()
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", commands)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	// If a command fails, processes that earlier commands started in the background continue and keep the pipe open.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 10 * time.Second
	defer func() {
		if cmd.Process != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	}()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, stderr.String())
	}
	return string(out) + stderr.String()
}

// freeAddr returns an address on which no process listens now.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
