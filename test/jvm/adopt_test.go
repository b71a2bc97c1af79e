package jvm

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// adoptFlags returns the flags of a sidecar that adopts only the JVMs of one /tmp: other JVMs on the machine do not
// belong to the test.
func adoptFlags(at place, selection string) []string {
	return []string{"--attach", "shared-tmp", "--jvm-tmp", at.tmp, "--adopt", selection}
}

// A JVM that does not log to the source gets an output, which is a stream like any other. After the sidecar has
// ended, the JVM has its own configuration again, byte for byte.
func TestARunningJVMIsAdopted(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newLevelRig(t, jdk)
		at := place{tmp: newTmp(r)}
		r.flags = append(r.flags, adoptFlags(at, "gc*=info,safepoint=info")...)
		jvm := r.listening(at, []string{"-Xmn4m", "-Xlog:gc=info:file=" + filepath.Join(r.truth, "own.log")}, "Churn", "600000", "100")
		before := jvm.list()
		r.up()
		stream := fmt.Sprintf("gc-%d.log", jvm.PID())
		r.shipped(stream, "Pause Young")
		r.shipped("ullage.log", "mark: jvm-adopted stream="+stream)
		r.shipped("ullage.log", "mark: jvm-seen stream="+stream) // the sidecar also asks for the JVM's name and version
		r.want("gc*=debug", "1h")
		r.shipped(stream, "[debug")
		if l := r.levels(); len(l.Errors) > 0 || len(l.JVMs) != 1 || l.JVMs[0].Adopted != "gc*=info,safepoint=info" {
			t.Errorf(`the levels are %+v, want no Errors, 1 in JVMs and Adopted "gc*=info,safepoint=info"`, l)
		}
		r.stop()
		if is := jvm.list(); is != before {
			t.Errorf("the JVM lists\n%s\nwant the same list as before\n%s", is, before)
		}
		if text := r.soFar("ullage.log"); !strings.Contains(text, "mark: jvm-released stream="+stream) {
			t.Errorf("want \"mark: jvm-released stream=%s\" in the marks:\n%s", stream, text)
		}
		if left, err := filepath.Glob(filepath.Join(r.source, "gc-*")); err != nil || len(left) > 0 {
			t.Errorf("left in the source: %q, error %v; want none and no error", left, err)
		}
	})
}

// A JVM that was given no option is adopted through its pod's annotations, as when the injector's
// options-variable is off. The sidecar finds it among the processes, since the JVM has no socket in
// its /tmp.
func TestAJVMWithoutOptionsIsAdoptedByAnAnnotation(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newLevelRig(t, jdk)
		notes := filepath.Join(r.truth, "annotations")
		if err := os.WriteFile(notes, []byte(`ullage.dev/adopt="gc*=info,safepoint=info"`+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		inNamespaces(r, `mkdir /dev/shm/jvm
exec "$ULLAGE" run --source /dev/shm/jvm --dest "$COPY" --annotations '`+notes+`' --attach process-namespace --listen off --sync-interval 50ms`, 1, 100)
		lab.Eventually(r, patience, "a pause is shipped", func() bool {
			out, _ := exec.Command(program, "logs", r.dest).Output() // fails until the first segment is there
			return strings.Contains(string(out), "Pause Young")
		})
	})
}

// The sidecar reports the JVM's own message and changes nothing.
func TestASelectionThatTheJVMDoesNotKnowIsNotAdopted(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newLevelRig(t, jdk)
		at := place{tmp: newTmp(r)}
		r.flags = append(r.flags, adoptFlags(at, "gc*=info,saftypoint=info")...)
		jvm := r.listening(at, nil, "Churn", "600000", "1")
		before := jvm.list()
		r.up()
		lab.Eventually(r, patience, "the status has the JVM's own message", func() bool {
			return strings.Contains(strings.Join(r.levels().Errors, "\n"), "Invalid tag 'saftypoint' in log selection")
		})
		if is := jvm.list(); is != before {
			t.Errorf("the JVM lists\n%s\nwant the same list as before\n%s", is, before)
		}
		r.stop()
	})
}

// Adopting and releasing a JVM stops none of its threads: a JVM that only waits has no safepoint
// meanwhile.
func TestToAdoptTakesNoSafepoint(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newLevelRig(t, jdk)
		at := place{tmp: newTmp(r)}
		r.flags = append(r.flags, adoptFlags(at, "gc*=debug,safepoint*=debug")...)
		own := filepath.Join(r.truth, "safepoints.log")
		flags := []string{"-XX:+UnlockDiagnosticVMOptions", "-XX:GuaranteedSafepointInterval=0", "-Xlog:safepoint=info:file=" + own + ":uptime"}
		if jdk.Version < 15 {
			flags = append(flags, "-XX:-UseBiasedLocking") // with biased locking, any lock may need a safepoint
		}
		jvm := r.listening(at, flags, "Churn", "600000", "0") // at a rate of 0, Churn only waits
		safepoints := func() int {
			text, err := os.ReadFile(own)
			if err != nil {
				t.Fatal(err)
			}
			return strings.Count(string(text), "\n")
		}
		before := safepoints()
		began := time.Now()
		r.up()
		lab.Eventually(r, patience, "the JVM is adopted", func() bool { return strings.Contains(jvm.list(), r.source) })
		r.stop()
		t.Logf("adopted and released within %s of the sidecar's start", time.Since(began).Round(time.Millisecond))
		if n := safepoints() - before; n != 0 {
			text, _ := os.ReadFile(own)
			t.Errorf("%d lines about safepoints, want 0:\n%s", n, text)
		}
	})
}

// killRounds returns how often a test kills the sidecar or the command for each Java release.
// ADOPT_ROUNDS sets another number.
func killRounds(t *testing.T) int {
	t.Helper()
	text := os.Getenv("ADOPT_ROUNDS")
	if text == "" {
		return 4
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("ADOPT_ROUNDS: %v", err)
	}
	return n
}

// A sidecar is killed at random moments while it adopts or releases. `ullage levels reset`, or the next sidecar,
// restores the JVM.
func TestAKillLeavesNoOutputBehind(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newLevelRig(t, jdk)
		at := place{tmp: newTmp(r)}
		plain := append(r.flags, "--attach", "shared-tmp", "--jvm-tmp", at.tmp)
		r.flags = append(r.flags, adoptFlags(at, "gc*=debug,safepoint=info")...)
		jvm := r.listening(at, nil, "Churn", "600000", "20")
		before := jvm.list()
		isAdopted := func() bool { return strings.Contains(jvm.list(), r.source) }
		began := time.Now()
		r.up()
		lab.Eventually(r, patience, "the JVM is adopted", isAdopted)
		adopts := time.Since(began)
		began = time.Now()
		r.stop()
		releases := time.Since(began)
		adopted := 0
		for round := range killRounds(t) {
			r.up()
			lasts := adopts
			if round%2 == 1 {
				lab.Eventually(r, patience, "the JVM is adopted", isAdopted)
				if err := r.side.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
				lasts = releases
			}
			time.Sleep(rand.N(lasts * 5 / 4)) // a random moment: there is no event to wait for
			r.side.Kill()
			if isAdopted() {
				adopted++
			}
			if round%4 < 2 {
				out, err := exec.Command(program, "levels", "reset", "--source", r.source, "--attach", "shared-tmp", "--jvm-tmp", at.tmp).CombinedOutput()
				if err != nil && !strings.Contains(string(out), "no 'ullage run' answers") {
					t.Fatalf("reset: %v\n%s", err, out)
				}
			} else {
				r.flags, plain = plain, r.flags
				r.up()
				if _, err := r.side.Addr(patience); err != nil { // by now it handles signals
					t.Fatal(err)
				}
				lab.Eventually(r, patience, "the successor has released the JVM", func() bool { return jvm.list() == before })
				r.stop()
				r.flags, plain = plain, r.flags
			}
			if is := jvm.list(); is != before {
				t.Fatalf("round %d: the JVM lists\n%s\nwant the same list as before\n%s", round, is, before)
			}
		}
		t.Logf("%d kills, %d of them left the output to the successor; an adoption took %s, a release %s", killRounds(t), adopted, adopts, releases)
	})
}
