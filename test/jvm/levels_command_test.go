package jvm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage/ullage/test/lab"
)

// ullageLog is a running `ullage levels`.
type ullageLog struct {
	*exec.Cmd
	stdout, stderr output
}

// output is what a process has printed so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// begin starts `ullage levels` for the rig's source.
func (r *levelRig) begin(verb string, args ...string) *ullageLog {
	r.Helper()
	args = append([]string{"levels", verb, "--source", r.source}, args...)
	if verb == "list" || verb == "rotate" || verb == "reset" {
		args = append(args, "--attach", "process-namespace")
	}
	l := &ullageLog{Cmd: exec.Command(program, args...)}
	l.Stdout, l.Stderr = &l.stdout, &l.stderr
	if err := l.Start(); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = l.Process.Kill() }) // fails only if it has ended
	return l
}

// end waits until the command ends and requires an exit code.
func (r *levelRig) end(l *ullageLog, code int) {
	r.Helper()
	err := l.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.Fatal(err)
	}
	if got := l.ProcessState.ExitCode(); got != code {
		r.Errorf("%q exits with %d, want %d: %s%s", l.Args[1:], got, code, &l.stdout, &l.stderr)
	}
}

// log runs `ullage levels` to its end and returns what it printed.
func (r *levelRig) log(code int, verb string, args ...string) (stdout, stderr string) {
	r.Helper()
	l := r.begin(verb, args...)
	r.end(l, code)
	return l.stdout.String(), l.stderr.String()
}

// said requires that a text contains all parts.
func said(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in:\n%s", part, text)
		}
	}
}

// ownLog returns the flag of a shipped output with a separate file for each JVM.
func (r *levelRig) ownLog() string {
	return Output{Selection: "gc*=info", File: filepath.Join(r.source, "gc-%p.log"), Decorations: "uptime,level,tags", Options: "filecount=3"}.Flag()
}

// The list shows the same as the JVMs' own lists.
func TestLevelsCommandList(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newLevelRig(t, jdk)
		flags := []string{r.ownLog(), "-Xlog:gc=debug:file=" + r.truth + "/its own.log:none"}
		one := r.listening(place{}, flags, "Churn", "600000", "0")
		two := r.listening(place{}, flags, "Churn", "600000", "0")
		table, _ := r.log(0, "list")
		said(r, table, "PID ", fmt.Sprintf("\n%d ", one.PID()), fmt.Sprintf("\n%d ", two.PID()))
		async := ""
		if jdk.Version >= asyncLogging {
			async = ",async=false"
		}
		table, _ = r.log(0, "list", "--pid", fmt.Sprint(two.PID()))
		said(r, strings.Join(strings.Fields(table), " "), "file="+r.source+"/gc-%p.log all=off,gc*=info uptime,level,tags ", "filecount=3,filesize=20480K"+async+" yes",
			"/its own.log all=off,gc=debug none ", async+" no")
		if strings.Contains(table, fmt.Sprint(one.PID())) {
			t.Errorf("the list for JVM %d has another JVM, want only that one:\n%s", two.PID(), table)
		}
		text, _ := r.log(0, "list", "--json", "--pid", fmt.Sprint(two.PID()))
		if diff := cmp.Diff(strings.Split(two.configuration(), "\n"), strings.Split(r.asListed(text, two), "\n")); diff != "" {
			t.Errorf("the list differs from the JVM's own list (-want +got):\n%s", diff)
		}
		_, complaint := r.log(1, "list", "--pid", fmt.Sprint(os.Getpid()))
		said(r, complaint, "no such JVM")
	})
}

// asListed converts the JSON of a list into the form of the JVM's own list and checks the fields
// that the JVM's list lacks.
func (r *levelRig) asListed(text string, p *listened) string {
	r.Helper()
	var outputs []struct {
		PID, Index                             int
		Output, Selection, Decorators, Options string
		Raised, Error                          string
		Shipped                                bool
	}
	if err := json.Unmarshal([]byte(text), &outputs); err != nil {
		r.Fatalf("%v:\n%s", err, text)
	}
	var list strings.Builder
	for _, o := range outputs {
		if o.PID != p.PID() || o.Shipped != strings.Contains(o.Output, r.source) || o.Raised != "" || o.Error != "" {
			r.Errorf("the output is %+v, want the PID of the JVM, no raise, no error, and Shipped only for a file in the source", o)
		}
		line := fmt.Sprintf(" #%d: %s %s %s %s", o.Index, o.Output, o.Selection, o.Decorators, o.Options)
		list.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return list.String()
}

// A sidecar knows of a raise that a person has set and ends it on time.
func TestLevelsCommandBesideASidecar(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := raising(t, jdk)
		jvm := r.listening(place{}, []string{r.ownLog()}, "Churn", "600000", "0")
		before := jvm.configuration()
		r.bystander()
		out, _ := r.log(0, "set", "gc*=debug", "--for", "1h")
		said(r, out, fmt.Sprintf("pid %d: ", jvm.PID()), "all=off,gc*=info → all=off,gc*=info,gc*=debug", "then 'ullage run' restores their level")
		r.selects(jvm, "gc*=debug")
		r.raisedUntil()
		if l := r.levels(); l.Raise == nil || l.Raise.Cause != "command" || l.Raise.Selection != "gc*=debug" {
			t.Errorf("the levels are %+v, want a raise by a command to gc*=debug", l)
		}
		out, _ = r.log(0, "list")
		said(r, out, "yes, raised\n")
		out, _ = r.log(0, "reset")
		said(r, out, fmt.Sprintf("pid %d: ", jvm.PID()))
		if is := jvm.configuration(); is != before {
			t.Errorf("after the reset, the configuration is\n%swant the same as before\n%s", is, before)
		}
		lab.Eventually(t, patience, "/status has no raise", func() bool { return r.levels().Raise == nil })
		out, _ = r.log(0, "reset")
		said(r, out, "nothing was raised")
		r.log(0, "set", "gc*=debug,safepoint=trace", "--for=1s")
		r.selects(jvm, "safepoint=trace")
		r.configured(jvm, before)
		said(r, r.side.Stderr(), "log level raised", "ullage levels set", "log level restored", "ullage levels reset")
	})
}

// bystander waits until the sidecar takes commands about levels.
func (r *levelRig) bystander() {
	r.Helper()
	lab.Eventually(r, patience, "the sidecar takes requests about the levels", func() bool {
		_, err := os.Stat(filepath.Join(r.source, ".ullage", "levels.sock"))
		return err == nil
	})
}

// If no sidecar runs, a command neither raises a level nor saves lines. A reset restores what a killed sidecar has
// raised.
func TestLevelsCommandWithoutASidecar(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := raising(t, jdk)
		jvm := r.listening(place{}, []string{r.ownLog()}, "Churn", "600000", "0")
		before := jvm.configuration()
		r.bystander()
		r.log(0, "set", "gc*=debug", "--for", "1h")
		r.side.Kill()
		raised := jvm.configuration()
		for _, args := range [][]string{{"set", "gc*=trace"}, {"save"}} {
			_, complaint := r.log(1, args[0], args[1:]...)
			said(r, complaint, "no 'ullage run' answers for the source")
		}
		if is := jvm.configuration(); is != raised || is == before {
			t.Errorf("the configuration is\n%swant the raised one\n%sand not the one from before\n%s", is, raised, before)
		}
		out, _ := r.log(0, "list")
		said(r, out, "yes, raised\n")
		r.log(0, "reset")
		if is := jvm.configuration(); is != before {
			t.Errorf("after a kill and a reset, the configuration is\n%swant the same as before\n%s", is, before)
		}
		_, complaint := r.log(1, "reset")
		said(r, complaint, "no 'ullage run' answers for the source")
	})
}

// A refusal by HotSpot is reported verbatim and in full.
func TestLevelsCommandRefused(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := raising(t, jdk)
		jvm := r.listening(place{}, []string{r.ownLog()}, "Churn", "600000", "0")
		before := jvm.configuration()
		r.bystander()
		for _, selection := range []string{"savepoint=debug", "gc+ref+heap=debug", "safepoint=trace,nosuchtag*=info", "gc*=trace,gc+safepoint=debug"} {
			_, complaint := r.log(1, "set", selection, "--for", "1h")
			if is := jvm.configuration(); is != before {
				t.Errorf("after %s, the configuration is\n%swant the same as before\n%s", selection, is, before)
			}
			theirs, err := jcmd(jvm.socket, "VM.log output=stderr decorators=uptime,level,tags what=all=off,"+selection)
			if err != nil || theirs == "" {
				t.Fatalf("the JVM answers %s with %q, error %v; want a message and no error", selection, theirs, err)
			}
			t.Logf("%s", strings.TrimSpace(complaint))
			said(r, complaint, strings.Join(strings.Fields(theirs), " "))
			if _, err := jcmd(jvm.socket, "VM.log output=stderr what=all=off"); err != nil {
				t.Fatal(err)
			}
		}
		r.log(2, "set")
		r.log(2, "set", "gc=loud")
		r.log(2, "set", "gc=debug", "--for", "1ms")
		r.log(2, "unset")
		r.log(2, "list", "more")
		jvm.Kill()
		_, complaint := r.log(1, "set", "gc*=debug")
		said(r, complaint, "no process that logs to")
	})
}

// After a rotation, the JVM logs to a new file, and no line of the old file is lost.
func TestLevelsCommandRotate(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := raising(t, jdk)
		log := Output{Selection: "gc*=info", File: "gc.log", Options: "filecount=3,filesize=0"}
		second := log
		log.File, second.File = filepath.Join(r.source, log.File), filepath.Join(r.truth, log.File)
		second.Options = "filecount=0"
		jvm := r.listening(place{}, []string{log.Flag(), second.Flag(), "-Xmn4m"}, "Churn", "600000", "100")
		r.shipped("gc.log", "Pause Young")
		was := inode(r, log.File)
		out, _ := r.log(0, "rotate")
		said(r, out, fmt.Sprintf("pid %d: rotated %s\n", jvm.PID(), log.File))
		if strings.Contains(out, second.File) {
			t.Errorf("a file without archives is reported as rotated, want it left out:\n%s", out)
		}
		if os.SameFile(was, inode(r, log.File)) {
			t.Error("the JVM still logs to the same file, want a new one")
		}
		lines := strings.Count(r.soFar("gc.log"), "Pause Young")
		lab.Eventually(t, patience, "more is persisted", func() bool { return strings.Count(r.soFar("gc.log"), "Pause Young") > lines+10 })
		jvm.Terminate()
		r.emptied()
		r.stop()
		r.same(r.written("gc.log"), r.persisted("gc.log"))
	})
}

func inode(t testing.TB, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}
