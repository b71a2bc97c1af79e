package fault

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/test/lab"
)

// A real JVM in a real cgroup runs out of memory: outside its heap, on the tmpfs of its log, or in its heap, where
// it exits or crashes. The mark of its end, the status, the counter and the report name the cause, even if the sidecar
// has much to read when it notices the end.
func TestWhatKilledAJVMIsNamed(t *testing.T) {
	needRoot(t)
	jdks := lab.NeedsJDKs(t)
	classes := jdks[0].Classes(t, filepath.Join("testdata", "Doomed.java"))
	const limit = `the kernel killed it at the memory limit of its own cgroup, 256 MiB \(1 kill in the last minute\); `
	const full = `the heap was full: (5|6)\S+ MiB of 64.0 MiB in use after a collection`
	const backlogged = "heap, while the sidecar has 16 MiB to read"
	const exits, crashes = "-XX:+ExitOnOutOfMemoryError", "-XX:+CrashOnOutOfMemoryError"
	for _, jdk := range jdks {
		for _, c := range []struct{ name, takes, option, status, cause, why string }{
			{"native", "native", exits, "signal=SIGKILL", "memory-limit", limit + `heap \S+ MiB \(\S+ \w+ of 64.0 MiB in use after a collection\), \S+ \S+ on the log's tmpfs, about 2\d\d MiB besides`},
			{"tmpfs", "tmpfs", exits, "signal=SIGKILL", "memory-limit", limit + `heap \S+ MiB \(\S+ \w+ of 64.0 MiB in use after a collection\), 2\d\d MiB on the log's tmpfs.*`},
			{"heap", "heap", exits, "exit=3", "heap", `-XX:\+ExitOnOutOfMemoryError is set, and ` + full},
			{backlogged, "heap", exits, "exit=3", "heap", `-XX:\+ExitOnOutOfMemoryError is set, and ` + full},
			{"heap, with a crash", "heap", crashes, "exit=1", "heap", `-XX:\+CrashOnOutOfMemoryError is set, and ` + full},
		} {
			t.Run(jdk.String()+"/"+c.name, func(t *testing.T) {
				t.Parallel() // each has its own control group and source
				source, dest := lab.Tmpfs(t, "512m"), t.TempDir()
				side := lab.Run(t, source, dest, "--attach", "process-namespace", "--jvm-tmp", "/tmp")
				addr, err := side.Addr(lab.Patience)
				if err != nil {
					t.Fatal(err)
				}
				jvm := doomed(t, newGroup(t, "memory", "memory.limit_in_bytes", "memory.max"), jdk, c.option, classes, source, c.takes)
				marked := func(pattern string) string {
					out, _ := exec.Command(lab.Binary(), "logs", "--marks", dest).Output()
					return regexp.MustCompile("(?m)" + pattern).FindString(string(out))
				}
				lab.Eventually(t, lab.Patience, "the JVM is known", func() bool { return marked(`jvm-started|jvm-seen`) != "" })
				signal := func(s syscall.Signal) {
					if err := side.Signal(s); err != nil {
						t.Fatal(err)
					}
				}
				if c.name == backlogged {
					signal(syscall.SIGSTOP)
					overdue := time.After(6 * time.Second) // the sidecar looks for ended JVMs every 5 s: a look is due as soon as it continues
					writeLines(t, source)
					jvm.takes(t)
					_ = jvm.Wait()
					<-overdue
					signal(syscall.SIGCONT)
				} else {
					jvm.takes(t)
					_ = jvm.Wait()
				}
				var mark string
				lab.Eventually(t, lab.Patience, "the JVM's end is marked", func() bool { mark = marked(`jvm-ended.*$`); return mark != "" })
				t.Log(mark)
				if !tells(t) {
					c.status = "cause="
				}
				if !strings.Contains(mark, " "+c.status) || !regexp.MustCompile(` cause=`+c.cause+` why="`+c.why+`"$`).MatchString(mark) {
					t.Errorf("the mark is %s, want %s, the cause %s and the reason %s", mark, c.status, c.cause, c.why)
				}
				var st admin.Status
				if _, body, err := side.Get("/status"); err != nil || json.Unmarshal([]byte(body), &st) != nil || st.JVMEnd == nil || st.JVMEnd.Cause != c.cause {
					t.Errorf("the status (error %v) has %+v, want the cause %s and no error", err, st.JVMEnd, c.cause)
				}
				if c.option == crashes {
					says := func(text string, command ...string) {
						lab.Eventually(t, lab.Patience, fmt.Sprintf("%s says: %s", command[0], text), func() bool {
							out, _ := exec.Command(lab.Binary(), command...).Output()
							return strings.Contains(string(out), text)
						})
					}
					says(": fatal error: OutOfMemory encountered: Java heap space, in hs_err_pid", "report", "--text", dest)
					says(crashes+" is set, and the heap was full: ", "status", "--addr", addr)
				}
				if n, err := side.Metric(`ullage_jvm_ends_total{cause="` + c.cause + `"}`); err != nil || n != 1 {
					t.Errorf("the counter is %v (%v), want 1", n, err)
				}
			})
		}
	}
}

// writeLines appends 16 MiB to the log of the JVM. The JVM appends to the log as well, so the JVM's last lines
// follow.
func writeLines(t *testing.T, source string) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(source, "gc-*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("the logs are %q (%v), want one", logs, err)
	}
	f, err := os.OpenFile(logs[0], os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Repeat("[1.000s][info][safepoint] a line of 64 bytes, before the last ones\n", 16<<14)); err != nil {
		t.Fatal(err)
	}
}

// tells reports whether the kernel reveals how a process that is not a child of the caller has ended: Linux 6.15 and
// later versions do.
func tells(t *testing.T) bool {
	t.Helper()
	var name unix.Utsname
	var major, minor int
	if err := unix.Uname(&name); err != nil {
		t.Fatal(err)
	}
	release := unix.ByteSliceToString(name.Release[:])
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		t.Fatalf("%v in %q", err, release)
	}
	if major > 6 || major == 6 && minor >= 15 {
		return true
	}
	t.Logf("Linux %s does not reveal the exit codes and signals of other processes", release)
	return false
}

// taker is a JVM that takes memory until it ends, beginning when it reads a line of its input.
type taker struct {
	*exec.Cmd
	in io.Writer
}

// takes makes the JVM take memory.
func (j *taker) takes(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(j.in, "\n"); err != nil {
		t.Error(err)
	}
}

// doomed starts a JVM in the cgroup, whose limit it sets to 256 MiB. The JVM takes memory only after a call of takes.
func doomed(t *testing.T, g *group, jdk lab.JDK, option, classes, source, takes string) *taker {
	t.Helper()
	g.set(g.file, strconv.Itoa(256*mib))
	_ = os.WriteFile(filepath.Join(g.dir, "memory.swappiness"), []byte("0"), 0) // version 1 of control groups
	_ = os.WriteFile(filepath.Join(g.dir, "memory.swap.max"), []byte("0"), 0)   // version 2: a pod has no swap
	cmd := exec.Command("sh", "-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(g.dir, "cgroup.procs"),
		jdk.Java(), "-Xmx64m", "-XX:MaxDirectMemorySize=1g", "-XX:+UseSerialGC", "-XX:+StartAttachListener", option,
		"-XX:ErrorFile="+filepath.Join(source, "hs_err_pid%p.log"), "-XX:-CreateCoredumpOnCrash",
		"-Xlog:gc*=info:file="+filepath.Join(source, "gc-%p.log"), "-cp", classes, "Doomed", takes, filepath.Join(source, "dump.bin"))
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &taker{cmd, in}
}
