package jvm

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/proto"

	"github.com/ullage/ullage/internal/jvm/adopt"
	"github.com/ullage/ullage/internal/jvm/handover"
	"github.com/ullage/ullage/internal/read/report/view"
	"github.com/ullage/ullage/test/lab"
)

// adopting starts `ullage adopt` with its own destination. The process is killed at the end of the
// test.
func adopting(r *levelRig, args ...string) *lab.Sidecar {
	r.Helper()
	adopt, err := lab.StartCommand(exec.Command(program, append([]string{"adopt", "--dest", filepath.Join(r.dest, "copy"), "--sync-interval", "50ms"}, args...)...))
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		adopt.Kill()
		if r.Failed() {
			r.Logf("ullage adopt said:\n%s", adopt.Stderr())
		}
	})
	return adopt
}

// adopted waits until `ullage adopt` reports that it adopted a JVM.
func adopted(r *levelRig, adopt *lab.Sidecar) {
	r.Helper()
	lab.Eventually(r, patience, "the JVM is adopted", func() bool {
		if adopt.Exited() {
			r.Fatalf("ullage adopt has ended:\n%s", adopt.Stderr())
		}
		return strings.Contains(adopt.Stderr(), "adopted pid ")
	})
}

// adoptEnds waits for the end of `ullage adopt`, requires the exit code, and returns its stderr.
func adoptEnds(r *levelRig, adopt *lab.Sidecar, want int) string {
	r.Helper()
	code, err := adopt.Wait(patience)
	if err != nil || code != want {
		r.Fatalf("exit code %d, want %d; error: %v\n%s", code, want, err, adopt.Stderr())
	}
	return adopt.Stderr()
}

// reported requires a report, and a complete copy that contains the text.
func reported(r *levelRig, text string) {
	r.Helper()
	if page, err := os.ReadFile(filepath.Join(r.dest, "ullage-report.html")); err != nil || !strings.Contains(string(page), "<html") {
		r.Errorf("the report has %d bytes, error %v; want an HTML page and no error", len(page), err)
	}
	copied := filepath.Join(r.dest, "copy")
	if out, err := exec.Command(program, "logs", copied).CombinedOutput(); err != nil || !strings.Contains(string(out), text) {
		r.Errorf("want %q in the copy, and no error; error %v:\n%.2000s", text, err, out)
	}
	if out, err := exec.Command(program, "check", copied).CombinedOutput(); err != nil {
		r.Errorf("check: %v\n%s", err, out)
	}
}

// left returns the directories on the tmpfs that adoptions of a JVM have left.
func left(r *levelRig, jvm *listened) []string {
	r.Helper()
	left, err := filepath.Glob(fmt.Sprintf("/dev/shm/ullage-%d-*", jvm.PID()))
	if err != nil {
		r.Fatal(err)
	}
	return left
}

// The log of a JVM that was started without any option is shipped for a while. Afterwards the JVM's configuration
// is as before, byte for byte. A second `ullage adopt` names the process that has adopted the JVM.
func TestAdoptAJVMWithNothingPrepared(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newLevelRig(t, jdk)
		jvm := r.launch(place{}, nil, "Churn", "600000", "100", "unprepared-"+jdk.String())
		pid := strconv.Itoa(jvm.PID())
		lab.Eventually(r, patience, "the JVM runs", func() bool {
			return exec.Command(program, "adopt", pid, "--for", "1s", "--dest", filepath.Join(r.truth, "first")).Run() == nil
		})
		before := jvm.list()
		if strings.Contains(before, "ullage") {
			t.Errorf("the JVM lists an output of ullage, want no \"ullage\" in it:\n%s", before)
		}
		adopt := adopting(r, "unprepared-"+jdk.String(), "gc*=debug", "--for", "1h")
		adopted(r, adopt)
		out, err := exec.Command(program, "adopt", pid, "--dest", filepath.Join(r.truth, "second")).CombinedOutput()
		if want := fmt.Sprintf("it is adopted already: process %d ships", adopt.PID()); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("the second adoption: %v, want %q:\n%s", err, want, out)
		}
		lab.Eventually(r, patience, "a pause is shipped", func() bool {
			out, err := exec.Command(program, "logs", filepath.Join(r.dest, "copy")).CombinedOutput()
			return err == nil && strings.Contains(string(out), "Pause Young")
		})
		if err := adopt.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		adoptEnds(r, adopt, 0)
		reported(r, "[debug")
		if is := jvm.list(); is != before {
			t.Errorf("the JVM lists\n%s\nwant the same list as before\n%s", is, before)
		}
		if left := left(r, jvm); len(left) > 0 {
			t.Errorf("left behind: %q, want none", left)
		}
	})
}

// With --hold, as in a container that ends with the adoption, the process waits until its copy has been fetched. A
// fetch without a reader leaves the copy in place, and a fetch with --now ends the adoption early.
func TestAdoptHandsOverWhatItShipped(t *testing.T) {
	r := newLevelRig(t, lab.NeedsJDKs(t)[0])
	jvm := r.listening(place{}, nil, "Churn", "600000", "100")
	before, copied := jvm.list(), filepath.Join(r.dest, "copy")
	adopt := adopting(r, strconv.Itoa(jvm.PID()), "--for", "1h", "--hold", "1h")
	adopted(r, adopt)
	lab.Eventually(r, patience, "a pause is shipped", func() bool {
		out, err := exec.Command(program, "logs", copied).CombinedOutput()
		return err == nil && strings.Contains(string(out), "Pause Young")
	})
	fetch := func(stdin string, more ...string) (tar []byte, err error) {
		cmd := exec.Command(program, append([]string{"adopt", "--fetch", "--dest", copied}, more...)...)
		cmd.Stdin = strings.NewReader(stdin)
		return cmd.Output()
	}
	if _, err := fetch("[]\n", "--now"); err == nil {
		t.Error("a fetch without a reader succeeded, want an error")
	}
	lab.Eventually(r, patience, "the adoption has ended", func() bool { return strings.Contains(adopt.Stderr(), "waiting 1h0m0s for a fetch") })
	if is := jvm.list(); is != before {
		t.Errorf("the JVM lists\n%s\nwant the same list as before\n%s", is, before)
	}
	archive, err := fetch("[]\nfetched\n")
	if err != nil {
		t.Fatal(err)
	}
	adoptEnds(r, adopt, 0)
	if _, err := os.Stat(copied); !os.IsNotExist(err) {
		t.Errorf("the destination exists after the fetch (error %v), want it removed", err)
	}
	if err := os.Mkdir(copied, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := handover.Read(bytes.NewReader(archive), copied); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "check", copied).CombinedOutput(); err != nil {
		t.Errorf("check: %v\n%s", err, out)
	}
	if out, err := exec.Command(program, "logs", copied).CombinedOutput(); err != nil || !strings.Contains(string(out), "Pause Young") {
		t.Errorf("want a pause in the fetched copy, and no error; error %v:\n%.2000s", err, out)
	}
}

// fetching is a fetch with this test as its reader.
type fetching struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	read  chan error // the result of the reader
}

// fetchInto fetches into a directory, which may already contain a part of the copy.
func fetchInto(r *levelRig, to string, more ...string) *fetching {
	r.Helper()
	f := &fetching{cmd: exec.Command(program, append([]string{"adopt", "--fetch", "--dest", filepath.Join(r.dest, "copy")}, more...)...), read: make(chan error, 1)}
	out, err := f.cmd.StdoutPipe()
	if err == nil {
		f.stdin, err = f.cmd.StdinPipe()
	}
	if err == nil {
		err = f.cmd.Start()
	}
	if err == nil {
		err = handover.Ask(f.stdin, to)
	}
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = f.cmd.Process.Kill(); _ = f.cmd.Wait() })
	go func() { f.read <- handover.Read(out, to) }()
	return f
}

// When a container ends, all processes in it are killed. The reader still has everything that was shipped until then.
// If a later adoption continues the same copy, a fetch gets only the rest.
func TestAFetchHasWhatWasShippedWhenTheContainerEnds(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newLevelRig(t, jdk)
		jvm := r.listening(place{}, nil, "Churn", "600000", "100")
		before, pid, copied := jvm.list(), strconv.Itoa(jvm.PID()), t.TempDir()
		adopt := adopting(r, pid, "--for", "1h", "--hold", "1h")
		adopted(r, adopt)
		first := fetchInto(r, copied)
		logs := func() string {
			out, _ := exec.Command(program, "logs", copied).Output() // fails until the first segment is there
			return string(out)
		}
		lab.Eventually(r, patience, "a pause is fetched", func() bool { return strings.Contains(logs(), "Pause Young") })
		lab.Eventually(r, patience, "a report with stops is fetched", func() bool {
			text, err := os.ReadFile(filepath.Join(copied, handover.Report))
			if err != nil {
				return false
			}
			figures, err := view.Decode(text) // fails while the file is being written
			return err == nil && figures.Totals.Stops > 0
		})
		adopt.Kill()
		if err := first.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := <-first.read; !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("the reader has ended with %v, want ErrUnexpectedEOF", err)
		}
		if out, err := exec.Command(program, "check", copied).CombinedOutput(); err != nil {
			t.Errorf("check: %v\n%s", err, out)
		}

		came := logs()
		adopt = adopting(r, pid, "--for", "1h", "--hold", "1h")
		adopted(r, adopt)
		rest := fetchInto(r, copied, "--now")
		if err := <-rest.read; err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("diff", "-r", filepath.Join(r.dest, "copy"), copied).CombinedOutput(); err != nil {
			t.Errorf("the fetched copy differs: %v\n%s", err, out)
		}
		if _, err := io.WriteString(rest.stdin, handover.Confirmation+"\n"); err != nil {
			t.Fatal(err)
		}
		adoptEnds(r, adopt, 0)
		if all := logs(); len(all) < len(came) {
			t.Errorf("the first fetch got %d bytes, both together %d, want at least as many", len(came), len(all))
		}
		if is := jvm.list(); is != before {
			t.Errorf("the JVM lists\n%s\nwant the same list as before\n%s", is, before)
		}
	})
}

// The next `ullage adopt` of a JVM continues where a killed `ullage adopt` stopped, and leaves
// nothing behind.
func TestAdoptAfterAKill(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newLevelRig(t, jdk)
		jvm := r.listening(place{}, nil, "Churn", "600000", "100")
		before, pid := jvm.list(), strconv.Itoa(jvm.PID())
		adopt := adopting(r, pid, "--for", "1h")
		adopted(r, adopt)
		adopt.Kill()
		if len(left(r, jvm)) != 1 {
			t.Errorf("left behind: %q, want 1", left(r, jvm))
		}
		adoptEnds(r, adopting(r, pid, "--for", "2s"), 0)
		reported(r, "Pause Young")
		if is := jvm.list(); is != before {
			t.Errorf("the JVM lists\n%s\nwant the same list as before\n%s", is, before)
		}
		if left := left(r, jvm); len(left) > 0 {
			t.Errorf("left behind: %q, want none", left)
		}

		adopt = adopting(r, pid, "--for", "1h")
		adopted(r, adopt)
		adopt.Kill()
		if out, err := exec.Command(program, "levels", "reset", "--source", left(r, jvm)[0]).CombinedOutput(); err != nil {
			t.Errorf("reset: %v\n%s", err, out)
		}
		if is := jvm.list(); is != before {
			t.Errorf("after reset, the JVM lists\n%s\nwant the same list as before\n%s", is, before)
		}
		t.Cleanup(func() { os.RemoveAll(left(r, jvm)[0]) })
	})
}

// If a JVM ends while it is adopted, there is still a report, and the command succeeds.
func TestAdoptAJVMThatEnds(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newLevelRig(t, jdk)
		jvm := r.listening(place{}, nil, "Churn", "600000", "100")
		adopt := adopting(r, strconv.Itoa(jvm.PID()), "--for", "1h")
		adopted(r, adopt)
		lab.Eventually(r, patience, "a pause is logged", func() bool {
			text, err := os.ReadFile(filepath.Join(left(r, jvm)[0], fmt.Sprintf("gc-%d.log", jvm.PID())))
			return err == nil && strings.Contains(string(text), "Pause Young")
		})
		jvm.Kill()
		if said := adoptEnds(r, adopt, 0); !strings.Contains(said, "has ended") {
			t.Errorf("unexpected output, want \"has ended\" in it:\n%s", said)
		}
		reported(r, "Pause Young")
		if left := left(r, jvm); len(left) > 0 {
			t.Errorf("left behind: %q, want none", left)
		}
	})
}

// A refusal gives the reason and changes nothing.
func TestAdoptRefuses(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newLevelRig(t, jdk)
		jvm := r.listening(place{}, nil, "Churn", "600000", "10")
		before, pid := jvm.list(), strconv.Itoa(jvm.PID())
		if said := adoptEnds(r, adopting(r, pid, "gc*=info,saftypoint=info"), 1); !strings.Contains(said, "Invalid tag 'saftypoint' in log selection") {
			t.Errorf("a selection that the JVM does not know: want \"Invalid tag 'saftypoint' in log selection\" from ullage adopt:\n%s", said)
		}
		if is, left := jvm.list(), left(r, jvm); is != before || len(left) > 0 {
			t.Errorf("left %q, want nothing; the JVM lists\n%s\nwant the list from before\n%s", left, is, before)
		}
		disabled := r.launch(place{}, []string{"-XX:+DisableAttachMechanism"}, "Churn", "600000", "10")
		lab.Eventually(r, patience, "the process is recognised as a JVM", func() bool {
			code, err := adopting(r, strconv.Itoa(disabled.PID())).Wait(patience)
			return err == nil && code == 1
		})
		lab.Eventually(r, patience, "the option is named", func() bool {
			return strings.Contains(adoptEnds(r, adopting(r, strconv.Itoa(disabled.PID())), 1), "-XX:+DisableAttachMechanism: remove that flag")
		})
	})
}

// The tmpfs belongs to the application: if it is small, more than half full, missing or read-only, ullage does not
// use it. A JVM in its own mount namespace is adopted through /proc.
func TestAdoptInAnotherMountNamespace(t *testing.T) {
	needs(t, "unshare")
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		for _, c := range []struct{ name, prepare, want string }{
			{"64 MiB", "mount -t tmpfs -o size=64m tmpfs /dev/shm", ""},
			{"64 KiB", "mount -t tmpfs -o size=64k tmpfs /dev/shm", "its /dev/shm has 64.0 KiB"},
			{"more than half used", "mount -t tmpfs -o size=64m tmpfs /dev/shm; head -c 40M /dev/zero >/dev/shm/app", "the application uses 40.0 MiB of the 64.0 MiB"},
			{"read-only", "mount -t tmpfs -o ro,size=64m tmpfs /dev/shm", "read-only file system"},
			{"no tmpfs", "mount --bind / /dev/shm", "its /dev/shm is not a tmpfs"},
			{"missing", "mount -t tmpfs tmpfs /dev; mknod -m 666 /dev/null c 1 3; mknod -m 444 /dev/random c 1 8; mknod -m 444 /dev/urandom c 1 9", "it has no /dev/shm"},
		} {
			t.Run(c.name, func(t *testing.T) {
				r := newLevelRig(t, jdk)
				jvm := unshared(r, c.prepare)
				before := jvm.list()
				adopt := adopting(r, strconv.Itoa(jvm.PID()), "--for", "2s")
				if c.want == "" {
					adoptEnds(r, adopt, 0)
					reported(r, "Pause Young")
				} else if said := adoptEnds(r, adopt, 1); !strings.Contains(said, c.want) {
					t.Errorf("it said:\n%s\nwant %q", said, c.want)
				}
				if is := jvm.list(); is != before {
					t.Errorf("the JVM lists\n%s\nwant the same list as before\n%s", is, before)
				}
			})
		}
	})
}

// unshared starts a JVM that allocates, in a mount namespace that a script prepares.
func unshared(r *levelRig, prepare string) *listened {
	r.Helper()
	cmd := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-euc", prepare+`; exec "$@"`, "sh",
		r.jdk.Java(), "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m", "-XX:+StartAttachListener", "-cp", classes, "Churn", "600000", "100")
	p := &listened{r: r, Process: &Process{cmd: cmd, done: make(chan struct{})}}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stdout, cmd.Stderr = &p.said, &p.said
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	go func() { _ = cmd.Wait(); close(p.done) }()
	p.socket = filepath.Join("/tmp", ".java_pid"+strconv.Itoa(p.PID()))
	r.Cleanup(func() { p.Kill(); os.Remove(p.socket) })
	return p
}

// inNamespaces runs a script in namespaces with its own processes, /tmp and /dev/shm. It first starts the given
// number of JVMs, which allocate at the given rate, in MiB a second.
//
// The JVMs have their own /tmp: two JVMs with the same process ID in two process namespaces have sockets of the
// same name, so that only one of them could be reached in a shared /tmp.
func inNamespaces(r *levelRig, script string, jvms, rate int) *lab.Sidecar {
	r.Helper()
	args := append(r.within(place{tmp: newTmp(r), isolated: true}), "sh", "-euc", `mount -t tmpfs -o size=64m tmpfs /dev/shm
i=0; while test $i -lt "$JVMS"; do "$@" & i=$((i+1)); done
`+script, "sh", r.jdk.Java(), "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m",
		"-cp", classes, "Churn", "600000", strconv.Itoa(rate))
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "ULLAGE="+program, "COPY="+r.dest, "JVMS="+strconv.Itoa(jvms))
	all, err := lab.StartCommand(cmd)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(all.Kill)
	return all
}

// All JVMs of a process namespace are adopted at once, each with a copy of its own.
func TestAdoptAllJVMs(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newLevelRig(t, jdk)
		all := inNamespaces(r, `until test "$("$ULLAGE" adopt --all --for 1s --dest "$COPY/trial" 2>&1 | grep -c "^adopted pid")" = 2; do sleep 0.1; done
exec "$ULLAGE" adopt --all --for 2s --dest "$COPY/copy"`, 2, 100)
		if said := adoptEnds(r, all, 0); strings.Count(said, "adopted pid") != 2 || !strings.Contains(said, "released: 2 JVMs: ") {
			t.Errorf("unexpected output, want \"adopted pid\" twice and \"released: 2 JVMs: \" in it:\n%s", said)
		}
		copies, err := filepath.Glob(filepath.Join(r.dest, "copy", "*"))
		if err != nil || len(copies) != 2 {
			t.Errorf("copies: %q, error %v; want 2 and no error", copies, err)
		}
	})
}

// If more JVMs run than can be adopted at once, the command refuses before it makes a JVM listen or creates a
// directory.
func TestAdoptMoreJVMsThanTheLimit(t *testing.T) {
	t.Parallel()
	r := newLevelRig(t, jdks[len(jdks)-1])
	all := inNamespaces(r, `until test "$(grep -lx "VM Thread" /proc/[0-9]*/task/*/comm 2>/dev/null | wc -l)" = "$JVMS"; do sleep 0.1; done
code=0; "$ULLAGE" adopt --all --for 1s --dest "$COPY/copy" || code=$?
find /tmp -maxdepth 1 -name ".java_pid*" >&2
find /dev/shm "$COPY" -mindepth 1 >&2
exit $code`, adopt.Most+1, 0)
	const want = "ullage adopt: 17 JVMs run here, but ullage adopts at most 16 at once: nothing was changed; name one JVM by its process ID\n"
	if said := adoptEnds(r, all, 1); said != want {
		t.Errorf("ullage adopt printed this, followed by the files that it created:\n%s\nwant\n%s", said, want)
	}
}

// The log of an adopted JVM also goes to a sink. The sink's server has each line of the copy.
func TestAdoptWithASink(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newLevelRig(t, jdk)
		at := receive(t)
		jvm := r.listening(place{}, nil, "Churn", "600000", "100")
		before := jvm.list()
		adopt := adopting(r, strconv.Itoa(jvm.PID()), "--for", "1h", "--sink", "otlp+"+at.URL)
		adopted(r, adopt)
		lab.Eventually(r, patience, "the server has a pause", func() bool { return strings.Contains(at.received(), "Pause Young") })
		if err := adopt.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		adoptEnds(r, adopt, 0)
		reported(r, "Pause Young")
		stored, err := exec.Command(program, "logs", filepath.Join(r.dest, "copy")).Output()
		if err != nil {
			t.Fatal(err)
		}
		got := at.received()
		for line := range strings.Lines(string(stored)) {
			if _, message, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "] "); !strings.Contains(got, message+"\n") {
				t.Errorf("the server does not have %q", line)
			}
		}
		if is := jvm.list(); is != before {
			t.Errorf("the JVM lists\n%s\nwant the same list as before\n%s", is, before)
		}
	})
}

// A sink that cannot be reached is reported. The copy is complete, and nothing is left in the JVM or on its
// tmpfs.
func TestAdoptWithASinkThatFails(t *testing.T) {
	r := newLevelRig(t, lab.NeedsJDKs(t)[0])
	jvm := r.listening(place{}, nil, "Churn", "600000", "100")
	before := jvm.list()
	adopt := adopting(r, strconv.Itoa(jvm.PID()), "--for", "1h", "--drain-timeout", "1s", "--sink", "otlp+http://127.0.0.1:1/v1/logs")
	adopted(r, adopt)
	lab.Eventually(r, patience, "a pause is shipped", func() bool {
		out, err := exec.Command(program, "logs", filepath.Join(r.dest, "copy")).CombinedOutput()
		return err == nil && strings.Contains(string(out), "Pause Young")
	})
	if err := adopt.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if said := adoptEnds(r, adopt, 1); !strings.Contains(said, "sink otlp+http has not received ") || strings.Contains(said, "the lines that were not shipped") {
		t.Errorf("unexpected output, want \"sink otlp+http has not received \" in it and no \"the lines that were not shipped\" in it:\n%s", said)
	}
	reported(r, "Pause Young")
	if is := jvm.list(); is != before {
		t.Errorf("the JVM lists\n%s\nwant the same list as before\n%s", is, before)
	}
	if left := left(r, jvm); len(left) > 0 {
		t.Errorf("left behind: %q, want none", left)
	}
}

// receiver is a server for OTLP logs.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	bodies strings.Builder
}

func receive(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		data := &logs.LogsData{}
		body, err := gzip.NewReader(request.Body)
		var raw []byte
		if err == nil {
			raw, err = io.ReadAll(body)
		}
		if err := errors.Join(err, proto.Unmarshal(raw, data)); err != nil {
			t.Errorf("%s %s: %v", request.Method, request.URL, err)
		}
		r.take(data)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) take(data *logs.LogsData) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range data.ResourceLogs {
		for _, scope := range resource.ScopeLogs {
			for _, record := range scope.LogRecords {
				fmt.Fprintln(&r.bodies, record.Body.GetStringValue())
			}
		}
	}
}

// received returns the text of all lines so far.
func (r *receiver) received() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bodies.String()
}

// `ullage adopt` is killed at random moments while it adopts or releases. `ullage levels reset`, or the next `ullage
// adopt`, restores the JVM.
func TestAKillOfTheCommandLeavesNoOutputBehind(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newLevelRig(t, jdk)
		jvm := r.listening(place{}, nil, "Churn", "600000", "20")
		before, pid := jvm.list(), strconv.Itoa(jvm.PID())
		t.Cleanup(func() {
			for _, dir := range left(r, jvm) {
				os.RemoveAll(dir)
			}
		})
		began := time.Now()
		whole := adopting(r, pid, "--for", "1h")
		adopted(r, whole)
		adopts := time.Since(began)
		began = time.Now()
		if err := whole.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		adoptEnds(r, whole, 0)
		releases := time.Since(began)
		behind := 0
		for round := range killRounds(t) {
			adopt, lasts := adopting(r, pid, "--for", "1h"), adopts
			if round%2 == 1 {
				adopted(r, adopt)
				if err := adopt.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
				lasts = releases
			}
			time.Sleep(rand.N(lasts * 5 / 4)) // a random moment: there is no event to wait for
			adopt.Kill()
			if jvm.list() != before {
				behind++
			}
			if round%4 < 2 {
				resetPlaces(r, left(r, jvm))
			} else {
				adoptEnds(r, adopting(r, pid, "--for", "1s"), 0)
				if left := left(r, jvm); len(left) > 0 {
					t.Fatalf("round %d: left behind, want none: %q", round, left)
				}
			}
			if is := jvm.list(); is != before {
				t.Fatalf("round %d: the JVM lists\n%s\nwant the same list as before\n%s", round, is, before)
			}
		}
		t.Logf("%d kills, %d of them left the output to the successor; an adoption took %s, a release %s", killRounds(t), behind, adopts, releases)
	})
}

// resetPlaces takes the directories that a killed `ullage adopt` has left. It releases their JVMs with `ullage
// levels reset` and removes the directories. If the JVM of a directory was not adopted yet, there is nothing to
// reset.
func resetPlaces(r *levelRig, places []string) {
	r.Helper()
	for _, dir := range places {
		out, err := exec.Command(program, "levels", "reset", "--source", dir).CombinedOutput()
		if err != nil && !strings.Contains(string(out), "no 'ullage run' answers") {
			r.Fatalf("reset: %v\n%s", err, out)
		}
		if err := os.RemoveAll(dir); err != nil {
			r.Fatal(err)
		}
	}
}
