package fault

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/test/jvm"
	"github.com/ullage/ullage/test/lab"
)

// steppedClock is a file for package time: some time after the start of the program, the wall clock steps and the
// monotonic clock does not, as after settimeofday. Stepping the machine's own clock would affect every other
// program on the machine.
const steppedClock = `package time

import "syscall"

var clockStep, clockAfter int64

func init() {
	text, _ := syscall.Getenv("ULLAGE_LAB_CLOCK_STEP")
	step, _ := atoi(text)
	text, _ = syscall.Getenv("ULLAGE_LAB_CLOCK_AFTER")
	after, _ := atoi(text)
	clockStep, clockAfter = int64(step), int64(after)*int64(Millisecond)
}

func stepped(sec int64, nsec int32, mono int64) (int64, int32, int64) {
	if mono-startNano >= clockAfter {
		sec += clockStep
	}
	return sec, nsec, mono
}
`

// buildStepped builds ullage, otherwise unchanged, with a clock that can be stepped. The first build compiles the
// whole standard library, which takes about a minute.
func buildStepped(t *testing.T) (bin string) {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	pkg, dir := filepath.Join(strings.TrimSpace(string(root)), "src", "time"), t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(pkg, "time.go"))
	if err != nil {
		t.Fatal(err)
	}
	const was, is = "sec, nsec, mono := runtimeNow()", "sec, nsec, mono := stepped(runtimeNow())"
	if !strings.Contains(string(text), was) {
		t.Fatal("this version of Go reads its clock in another way: adapt the overlay")
	}
	overlay := `{"Replace": {"` + pkg + `/time.go": "` + dir + `/time.go", "` + pkg + `/stepped.go": "` + dir + `/stepped.go"}}`
	for name, text := range map[string]string{
		"time.go": strings.ReplaceAll(string(text), was, is), "stepped.go": steppedClock, "overlay.json": overlay,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	bin = filepath.Join(dir, "ullage")
	out, err := exec.Command("go", "build", "-buildvcs=false", "-overlay", filepath.Join(dir, "overlay.json"), "-o", bin, "github.com/ullage/ullage/cmd/ullage").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// The clock steps by an hour while the sidecar works. No line is lost, repeated or deleted too early, even if the
// next start does not know of the step. The measured lag stays plausible.
func TestClockStepsByAnHour(t *testing.T) {
	if !long(true, false) {
		t.Skip("compiles the standard library: set ULLAGE_FAULT_LONG=1 to run it")
	}
	bin := buildStepped(t)
	for name, seconds := range map[string]string{"forward": "3600", "back": "-3600"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, filepath.Join(t.TempDir(), "dest"), "--retain-age", "2h")
			for _, after := range []string{"1500", "0", "1500"} {
				r.side.Kill()
				r.side = r.stepping(bin, seconds, after)
				r.writes(3 * perSecond)
				r.persists(perSecond)
				r.lagIsReasonable()
			}
			r.turnsGreen()
			r.side.Kill()
			r.side = lab.Run(t, r.source, r.dest, r.flags...) // the clock is right again
			r.persists(perSecond)
			r.lagIsReasonable()
			r.balances()
		})
	}
}

func (r *rig) stepping(bin, seconds, after string) *lab.Sidecar {
	r.Helper()
	cmd := exec.Command(bin, append([]string{"run", "--source", r.source, "--dest", r.dest, "--listen", "127.0.0.1:0"}, r.flags...)...)
	cmd.Env = append(os.Environ(), "ULLAGE_LAB_CLOCK_STEP="+seconds, "ULLAGE_LAB_CLOCK_AFTER="+after)
	side, err := lab.StartCommand(cmd)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(side.Kill)
	return side
}

func (r *rig) lagIsReasonable() {
	r.Helper()
	if lag := r.metric("ullage_lag_seconds"); lag < 0 || lag > 60 {
		r.Errorf("ullage_lag_seconds is %v, want 0 to 60", lag)
	}
}

// The clock steps by an hour while a JVM is adopted. The adoption lasts for the requested time, the copy is complete,
// and the JVM's configuration is as before.
func TestClockStepsDuringAnAdoption(t *testing.T) {
	if !long(true, false) {
		t.Skip("compiles the standard library: set ULLAGE_FAULT_LONG=1 to run it")
	}
	jdks := lab.NeedsJDKs(t)
	classes, err := jvm.Compile(jdks[0], t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	bin := buildStepped(t)
	for name, seconds := range map[string]string{"forward": "3600", "back": "-3600"} {
		for _, jdk := range jdks {
			t.Run(name+"/"+jdk.String(), func(t *testing.T) { adoptWhileStepping(t, bin, seconds, jdk, classes) })
		}
	}
}

func adoptWhileStepping(t *testing.T, bin, seconds string, jdk lab.JDK, classes string) {
	const asked = 4 * time.Second
	p, err := jvm.Start(jdk, "-cp", classes, "-Xmx64m", "Churn", milliseconds(patience), "200")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	pid := strconv.Itoa(p.PID())
	list := func() (list string) {
		t.Helper()
		lab.Eventually(t, patience, "the JVM lists its outputs", func() (ok bool) {
			list, err = command(filepath.Join(jdk.Home, "bin", "jcmd"), pid, "VM.log", "list")
			return err == nil
		})
		return list
	}
	before := list()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), bin, "adopt", pid, "gc*=debug", "--for", asked.String(), "--dest", "copy")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "ULLAGE_LAB_CLOCK_STEP="+seconds, "ULLAGE_LAB_CLOCK_AFTER=2000")
	begun := time.Now()
	out, err := cmd.CombinedOutput()
	if took := time.Since(begun); err != nil || took < asked {
		t.Fatalf("the adoption took %s, error %v; want at least %s and no error\n%s", took, err, asked, out)
	}
	if after := list(); after != before {
		t.Errorf("the JVM lists\n%s\nwant the same list as before\n%s", after, before)
	}
	if out, err := command(lab.Binary(), "check", filepath.Join(dir, "copy")); err != nil {
		t.Errorf("check: %v, want no error\n%s", err, out)
	}
}

// Files that are an hour older or younger than the clock says, as after an unnoticed step, are treated like other
// files.
func TestFilesAnHourOff(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "dest"))
	path := filepath.Join(r.source, stream)
	for _, off := range []time.Duration{-time.Hour, time.Hour} {
		r.side.Kill()
		r.writes(perSecond / 2)
		at := time.Now().Add(off)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		r.side = lab.Run(t, r.source, r.dest, r.flags...)
		r.persists(perSecond)
		for range 10 {
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
			r.persists(1)
		}
		r.lagIsReasonable()
	}
	r.balances()
}
