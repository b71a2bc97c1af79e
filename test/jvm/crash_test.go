package jvm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/test/lab"
)

// injectedOptions returns the options that the injector gives a JVM, with the log in the rig's
// source.
func (r *rig) injectedOptions() []string {
	r.Helper()
	s := &starts{T: r.T, jdk: r.jdk, source: r.source}
	_, value := s.injected(r.T, nil)
	return strings.Fields(value)
}

// witness opens files of the source as soon as they appear and keeps them open, so that they can be compared after
// the sidecar has unlinked them.
type witness struct {
	*rig
	mu   sync.Mutex
	open map[string]*os.File
}

func newWitness(r *rig) *witness {
	w := &witness{rig: r, open: map[string]*os.File{}}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for tick := time.NewTicker(time.Millisecond); ; {
			w.look()
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	r.Cleanup(func() {
		close(stop)
		<-stopped
		for _, f := range w.open {
			f.Close()
		}
	})
	return w
}

// look opens all new files that are not logs.
func (w *witness) look() {
	entries, err := os.ReadDir(w.source)
	if err != nil {
		w.Error(err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range entries {
		if name := e.Name(); w.open[name] == nil && naming.KindOf(name) != naming.KindLog {
			if f, err := os.Open(filepath.Join(w.source, name)); err == nil {
				w.open[name] = f
			}
		}
	}
}

// kinds returns the names of the files seen, by kind.
func (w *witness) kinds() map[naming.Kind][]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	of := map[naming.Kind][]string{}
	for name := range w.open {
		of[naming.KindOf(name)] = append(of[naming.KindOf(name)], name)
	}
	return of
}

// written returns what the JVM wrote to a file.
func (w *witness) written(name string) []byte {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	text, err := io.ReadAll(w.open[name])
	if err != nil {
		w.Fatal(err)
	}
	return text
}

// crash starts a JVM that leaves in the source every file that a dying JVM can leave. It then kills the JVM as a defect in
// native code would.
func (w *witness) crash() {
	w.Helper()
	flags := append(w.injectedOptions(), "-XX:+UnlockDiagnosticVMOptions", "-XX:+LogVMOutput",
		"-XX:LogFile="+filepath.Join(w.source, "hotspot_%p.log"),
		// A compiler that crashes leaves a replay file; with these options, it leaves one for each
		// method.
		"-XX:CompileCommand=quiet", "-XX:CompileCommand=DumpReplay,*::hashCode", "-Xcomp", "-XX:CompileCommand=compileonly,*::hashCode")
	if w.jdk.Version < 21 { // only the C2 compiler of these JVMs leaves replay files
		flags = append(flags, "-XX:TieredStopAtLevel=4", "-XX:-TieredCompilation")
	}
	before := len(w.kinds()[naming.KindReplay]) // left by earlier JVMs
	p := w.startIn(w.source, flags, "Churn", "600000", "20")
	lab.Eventually(w, patience, "the JVM's log is persisted, and the compiler has left a file", func() bool {
		log := fmt.Sprintf(`ullage_persisted_bytes_total{stream="gc-%d.log"}`, p.PID())
		return w.metric(log) > 0 && len(w.kinds()[naming.KindReplay]) > before
	})
	if err := syscall.Kill(p.PID(), syscall.SIGSEGV); err != nil {
		w.Fatal(err)
	}
	if err := p.Wait(patience); err == nil {
		w.Error("the JVM has ended without an error, want a crash")
	}
}

// statusShowsCrashes requires the number of crashes in /status, and that /status describes the copy.
func (w *witness) statusShowsCrashes(want int64) {
	w.Helper()
	_, body, err := w.side.Get("/status")
	var st admin.Status
	if err == nil {
		err = json.Unmarshal([]byte(body), &st)
	}
	if err != nil || st.JVMCrashes != want || st.ByLevel["info"] == 0 || st.FreeBytes == 0 || st.Segments == 0 || time.Since(st.Reaches) > time.Hour {
		w.Errorf("%d crashes, want %d; error: %v; /status: %s", st.JVMCrashes, want, err, body)
	}
}

// A dying JVM leaves a crash report, the output of the VM, and replay files of the compilers. The durable copy has
// each of these files as its own stream, byte for byte, because the files are lost with the pod. Each report counts
// as one crash. In this test, --match matches only the names of logs.
func TestWhatACrashLeavesIsPersisted(t *testing.T) {
	alongsideFrom(t, dumpReplay, func(t *testing.T, jdk lab.JDK) {
		w := newWitness(newRig(t, jdk, "64m", "--match", "gc*.log*"))
		w.crash()
		w.crash()
		lab.Eventually(w, patience, "both crashes are counted", func() bool { return w.metric("ullage_jvm_crashes_total") == 2 })
		w.statusShowsCrashes(2)
		w.emptied()
		w.stop()
		if out, err := exec.Command(program, "check", w.dest).CombinedOutput(); err != nil {
			t.Errorf("the copy is not complete: %v\n%s", err, out)
		}
		out, err := exec.Command(program, "report", "--text", w.dest).CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("\nJVMs crashed 2 times.\n")) || !bytes.Contains(out, []byte("\ncomplete: ")) {
			t.Errorf("the report: error %v; want no error, \"JVMs crashed 2 times.\" and \"complete: \" in:\n%.2000s", err, out)
		}
		for _, kind := range []naming.Kind{naming.KindCrash, naming.KindReplay, naming.KindOutput} {
			names := w.kinds()[kind]
			t.Logf("%s: %q", kind, names)
			if len(names) < 2 {
				t.Errorf("%d files of kind %s, want one for each of two JVMs", len(names), kind)
			}
			for _, name := range names {
				written := w.written(name)
				// The sidecar adds a newline if the last line of a file lacks one.
				persisted := bytes.TrimSuffix(w.persisted(name), newline)
				// A compiler thread may end before it has written anything to its replay file.
				empty := len(written) == 0 && kind != naming.KindReplay
				if empty || !bytes.Equal(bytes.TrimSuffix(written, newline), persisted) {
					t.Errorf("%s: %d of %d bytes were persisted, or they differ; want the same bytes, and some except in a replay file", name, len(persisted), len(written))
				}
			}
		}
		for _, name := range w.kinds()[naming.KindCrash] {
			report := w.persisted(name)
			for _, part := range []string{"# A fatal error has been detected by the Java Runtime Environment:", "SIGSEGV", "\nEND.\n"} {
				if !bytes.Contains(report, []byte(part)) {
					t.Errorf("no %q in the %d bytes of %s", part, len(report), name)
				}
			}
		}
	})
}

// A JVM with the injector's options does not map its performance counters to a file, which would be on a disk. jcmd
// still reaches the JVM by its process ID.
func TestNoCountersAreMappedFromADisk(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newRig(t, jdk, "64m")
		for _, c := range []struct {
			name   string
			flags  []string
			mapped bool
		}{
			{"as the injector has it", r.injectedOptions(), false},
			{"without", nil, true},
		} {
			p := r.start(append([]string{"-XX:+UsePerfData"}, c.flags...), "Churn", "600000", "1")
			pid := strconv.Itoa(p.PID())
			lab.Eventually(r, patience, "jcmd reaches the JVM", func() bool {
				return exec.Command(filepath.Join(jdk.Home, "bin", "jcmd"), pid, "VM.version").Run() == nil
			})
			maps, err := os.ReadFile("/proc/" + pid + "/maps")
			if err != nil {
				t.Fatal(err)
			}
			if mapped := bytes.Contains(maps, []byte("hsperfdata")); mapped != c.mapped {
				t.Errorf("%s: a file of counters is mapped: %v, want %v", c.name, mapped, c.mapped)
			}
			p.Kill()
		}
	})
}

// A real JVM has a second log on a disk. The sidecar, attached as the injector sets it up, finds that log.
func TestASecondLogIsFound(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newLevelRig(t, jdk)
		tmp, err := os.MkdirTemp("", "tmp-") // short, for the path of a socket
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(tmp) })
		at := place{tmp: tmp}
		r.flags = append(r.flags, "--attach", "shared-tmp", "--jvm-tmp", at.tmp)
		other := filepath.Join(r.truth, "other.log")
		r.listening(at, []string{r.gcLog(), "-Xlog:safepoint:file=" + other}, "Churn", "600000", "20")
		r.up()
		lab.Eventually(t, patience, "the other log is in the metrics", func() bool { return r.metric("ullage_jvm_disk_outputs") == 1 })
		if logs := r.levels().OtherLogs; len(logs) != 1 || !strings.HasSuffix(logs[0], other) {
			t.Errorf("the other logs in the status are %q, want one, which ends with %s", logs, other)
		}
	})
}
