package jvm

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
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
				t.Fatalf("the page has %d examples, want 1", len(examples))
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
	for _, want := range []string{"lost", "twice", "The JVM lists the same outputs"} {
		if !strings.Contains(out, want) {
			t.Errorf("the demos do not print %q:\n%s", want, out)
		}
	}
}

// TestThePagesCommands runs the commands of pages as they are, on a real log with a long pause. Only paths and the
// time of the incident are replaced.
func TestThePagesCommands(t *testing.T) {
	if _, err := exec.LookPath("jq"); err != nil {
		lab.Needs(t, err.Error())
	}
	t.Parallel()
	r := raising(t, jdks[0], "--persist-level", "info", "--hindsight", "1m", "--hindsight-on", "")
	jvm := debugging(r, "-XX:+StartAttachListener", "-Xmx1g", "-Xmn2m", "-XX:+UseSerialGC", "LongPause", "500", "200", "30")
	lab.Eventually(t, patience, "a pause of more than 100 ms is persisted", func() bool {
		return strings.Contains(r.soFar("ullage.log"), "jvm-") && slowPause.MatchString(r.soFar("gc.log"))
	})
	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "ullage")); err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	answer := func(command string) string {
		command = strings.NewReplacer("16:45", time.Now().Format("15:04"), "2026-11-20T16:45:11", time.Now().Format("2006-01-02T15:04:05"),
			"/var/lib/ullage", r.dest, "DEST", r.dest).Replace(command)
		return run(t, work, command, "ULLAGE_DEST="+r.dest, "ULLAGE_SOURCE="+r.source, "PATH="+bin+":"+os.Getenv("PATH"))
	}
	incident := commands(t, "incident.md")
	for i, want := range []string{"Pause ", "Pause ", "jvm-", "complete", "no gaps", "until ", "[debug]", "Stops by cause"} {
		if i >= len(incident) {
			t.Fatalf("the page about incidents has %d blocks of commands, want at least %d", len(incident), i+1)
		}
		out := ""
		for command := range strings.Lines(incident[i]) {
			out += answer(command)
			if strings.HasPrefix(command, "ullage levels save") {
				r.shipped(detail, "[debug]")
			}
		}
		if !strings.Contains(out, want) {
			t.Errorf("the commands of question %d do not print %q:\n%s%s", i+1, want, incident[i], out)
		}
	}
	for command := range strings.Lines(commands(t, "read-logs.md")[0]) {
		if !strings.Contains(command, " -f ") { // which ends only with Ctrl-C
			answer(command)
		}
	}
	jvm.Terminate()
	log := r.written("gc.log")
	for _, name := range []string{"gc.log", "before/gc.log", "after/gc.log", "pods/a/gc.log", "pods/b/gc.log", "pods/c/gc.log", "old/a.log", "old/b.log", "new/a.log"} {
		path := filepath.Join(work, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, log, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	local := regexp.MustCompile(`(?m)^.*s3://.*\n`).ReplaceAllString(commands(t, "report.md")[0], "") // package sinks reads a bucket
	if out := answer(local); !strings.Contains(out, "Stops by cause") || !strings.Contains(out, `"stops": `) {
		t.Errorf("want \"Stops by cause\" and %q in the output of the commands of the page about reports:\n%s", `"stops": `, out)
	}
}

// slowPause is the line of a pause of at least 100 ms.
var slowPause = regexp.MustCompile(`(?m)^.* Pause .*[0-9]{3,}\.[0-9]{3}ms$`)

// commands returns the blocks of commands in a page.
func commands(t *testing.T, page string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", page))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(text, -1) {
		blocks = append(blocks, string(block[1]))
	}
	if len(blocks) == 0 {
		t.Fatalf("docs/%s has no commands", page)
	}
	return blocks
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
