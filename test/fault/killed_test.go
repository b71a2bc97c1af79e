package fault

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/test/lab"
)

// A real JVM in a real cgroup runs out of memory: outside of its heap, on the tmpfs of its log, or in its heap. The
// mark of its end, the status, the counter and the report name the cause, with the numbers.
func TestWhatKilledAJVMIsNamed(t *testing.T) {
	needRoot(t)
	jdks := lab.NeedsJDKs(t)
	classes := jdks[0].Classes(t, filepath.Join("testdata", "Doomed.java"))
	const limit = `the kernel killed it at the memory limit of its own cgroup, 256 MiB \(1 kill in the last minute\); `
	for _, jdk := range jdks {
		for _, c := range []struct{ takes, cause, why string }{
			{"native", "memory-limit", limit + `heap \S+ MiB \(\S+ \w+ of 64.0 MiB in use after a collection\), \S+ \S+ on the log's tmpfs, about 2\d\d MiB besides`},
			{"tmpfs", "memory-limit", limit + `heap \S+ MiB \(\S+ \w+ of 64.0 MiB in use after a collection\), 2\d\d MiB on the log's tmpfs.*`},
			{"heap", "heap", `-XX:\+ExitOnOutOfMemoryError is set, and the heap was full: (5|6)\S+ MiB of 64.0 MiB in use after a collection`},
		} {
			t.Run(jdk.String()+"/"+c.takes, func(t *testing.T) {
				source, dest := lab.Tmpfs(t, "512m"), t.TempDir()
				side := lab.Run(t, source, dest, "--attach", "process-namespace", "--jvm-tmp", "/tmp")
				if _, err := side.Addr(lab.Patience); err != nil {
					t.Fatal(err)
				}
				take := doomed(t, newGroup(t, "memory", "memory.limit_in_bytes", "memory.max"), jdk, classes, source, c.takes)
				marked := func(pattern string) string {
					out, _ := exec.Command(lab.Binary(), "logs", "--marks", dest).Output()
					return regexp.MustCompile("(?m)" + pattern).FindString(string(out))
				}
				lab.Eventually(t, lab.Patience, "the JVM is known", func() bool { return marked(`jvm-started|jvm-seen`) != "" })
				take()
				var mark string
				lab.Eventually(t, lab.Patience, "the JVM's end is marked", func() bool { mark = marked(`jvm-ended.*$`); return mark != "" })
				t.Log(mark)
				if !regexp.MustCompile(` cause=` + c.cause + ` why="` + c.why + `"$`).MatchString(mark) {
					t.Errorf("the mark: %s", mark)
				}
				var st admin.Status
				if _, body, err := side.Get("/status"); err != nil || json.Unmarshal([]byte(body), &st) != nil || st.JVMEnd == nil || st.JVMEnd.Cause != c.cause {
					t.Errorf("the status (%v) has %+v", err, st.JVMEnd)
				}
				if n, err := side.Metric(`ullage_jvm_ends_total{cause="` + c.cause + `"}`); err != nil || n != 1 {
					t.Errorf("the counter is %v (%v)", n, err)
				}
			})
		}
	}
}

// doomed starts a JVM in the cgroup, with 256 MiB. It returns a function that makes the JVM take memory until it
// ends.
func doomed(t *testing.T, g *group, jdk lab.JDK, classes, source, takes string) (take func()) {
	t.Helper()
	g.set(g.file, strconv.Itoa(256*mib))
	_ = os.WriteFile(filepath.Join(g.dir, "memory.swappiness"), []byte("0"), 0) // version 1 of control groups
	_ = os.WriteFile(filepath.Join(g.dir, "memory.swap.max"), []byte("0"), 0)   // version 2: a pod has no swap
	cmd := exec.Command("sh", "-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(g.dir, "cgroup.procs"),
		jdk.Java(), "-Xmx64m", "-XX:MaxDirectMemorySize=1g", "-XX:+UseSerialGC", "-XX:+StartAttachListener", "-XX:+ExitOnOutOfMemoryError",
		"-Xlog:gc*=info:file="+filepath.Join(source, "gc-%p.log"), "-cp", classes, "Doomed", takes, filepath.Join(source, "dump.bin"))
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return func() {
		if _, err := io.WriteString(in, "\n"); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
	}
}
