package report

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/read/report/view"
)

// runsOfAWorkload writes logs of JVMs on machines of different speeds: each log has random collections from a
// real log, and its pauses are multiplied by a factor for its machine. In the second half of the logs, they are
// also multiplied by change.
func runsOfAWorkload(t *testing.T, seed uint64, n int, change float64) (paths []string) {
	t.Helper()
	text, err := os.ReadFile(samples + "g1-jdk17.log")
	if err != nil {
		t.Fatal(err)
	}
	pauses := regexp.MustCompile(`(?m)^\S+\[info \]\[gc,start.*Pause Young.*\n(?:.*\]\[gc  .*\n)(?:.*\]\[gc,cpu .*\n)(?:.*\]\[safepoint  .*\n)`).FindAllString(string(text), -1)
	if len(pauses) < 4 {
		t.Fatalf("%d young collections in the log, want 4 or more", len(pauses))
	}
	chance := rand.New(rand.NewPCG(seed, 36))
	dir := t.TempDir()
	for i := range n {
		slower := 1 + chance.NormFloat64()*0.08
		if i >= n/2 {
			slower *= change
		}
		var b strings.Builder
		for gc := range 400 {
			b.WriteString(collection(pauses[chance.IntN(len(pauses))], gc, slower))
		}
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("pod-%02d.log", i)))
		if err := os.WriteFile(paths[i], []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

var (
	measured = regexp.MustCompile(`[\d.]+(ms$| ns)`)
	identity = regexp.MustCompile(`GC\(\d+\)`)
	stamped  = regexp.MustCompile(`^\[[\d.]+s\]`)
)

// collection returns the lines of a collection with a different number, a different time, and longer
// pauses.
func collection(lines string, gc int, slower float64) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		line = measured.ReplaceAllStringFunc(strings.TrimSuffix(line, "\n"), func(text string) string {
			number, unit := text[:len(text)-2], "ms"
			if number = strings.TrimSuffix(number, " "); strings.HasSuffix(text, " ns") {
				unit = " ns"
			}
			v, _ := strconv.ParseFloat(number, 64) // the expression matches only digits
			if unit == " ns" {
				return fmt.Sprintf("%.0f ns", v*slower)
			}
			return fmt.Sprintf("%.3fms", v*slower)
		})
		line = identity.ReplaceAllString(line, fmt.Sprintf("GC(%d)", gc))
		b.WriteString(stamped.ReplaceAllString(line, fmt.Sprintf("[%d.000s]", gc+1)) + "\n")
	}
	return b.String()
}

// compared compares the first half of the logs with the second.
func compared(t *testing.T, paths []string) *view.Groups {
	t.Helper()
	var fleet view.Fleet
	for i, path := range paths {
		fleet.Add("AB"[2*i/len(paths):][:1], reportOn(t, Config{}, path))
	}
	fleet.CompareGroups()
	return fleet.Groups
}

func TestAChangeOfPausesInTwentyPodsIsFound(t *testing.T) {
	groups := compared(t, runsOfAWorkload(t, 1, 40, 1.2))
	beyond := map[string]bool{}
	for _, d := range groups.Differences {
		beyond[d.Name] = d.Beyond
		if d.Beyond && (*d.Low > 0.2**d.A || *d.High < 0.2**d.A) {
			t.Errorf("%s: %v to %v more than %v, want an interval that holds 20 %%", d.Name, *d.Low, *d.High, *d.A)
		}
	}
	for _, name := range []string{"time stopped", "stop, p50", "stop, p99"} {
		if !beyond[name] {
			t.Errorf("%s does not differ, want a difference: %s", name, groups.Verdict)
		}
	}
	if beyond["full collections an hour"] || beyond["suspected stalls an hour"] {
		t.Errorf("full collections or suspected stalls differ, want only figures of the pauses to differ: %s", groups.Verdict)
	}
}

func TestWithoutAChangeNothingDiffers(t *testing.T) {
	for seed := range uint64(3) {
		groups := compared(t, runsOfAWorkload(t, seed, 40, 1))
		if !strings.HasPrefix(groups.Verdict, "No figure of the ") {
			t.Errorf(`seed %d, want "No figure of the " at its start: %s`, seed, groups.Verdict)
		}
	}
}

func TestTooFewPodsAreNotCompared(t *testing.T) {
	groups := compared(t, runsOfAWorkload(t, 1, 8, 5))
	if !strings.HasPrefix(groups.Verdict, "No difference can be established: with 4 in A and 4 in B, ") {
		t.Errorf("the verdict is %q, want that none can be established with 4 in A and 4 in B", groups.Verdict)
	}
	for _, d := range groups.Differences {
		if d.Shift != nil || d.Beyond || d.Refused == "" {
			t.Errorf("the difference is not refused, want it refused: %+v", d)
		}
	}
	if groups = compared(t, runsOfAWorkload(t, 1, 12, 5)); !strings.Contains(groups.Verdict, "beyond chance in ") {
		t.Errorf("want six logs on each side to be enough: %s", groups.Verdict)
	}
}

// One group was observed for longer than the other, so its longest stops are not compared.
func TestALongestStopIsNotComparedOverUnlikeTimes(t *testing.T) {
	paths := runsOfAWorkload(t, 1, 40, 1.2)
	for _, path := range paths[20:] {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text[:len(text)/2], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range compared(t, paths).Differences {
		if longest := strings.HasPrefix(d.Name, "longest"); longest != strings.HasPrefix(d.Refused, "it grows with the duration of the log, ") || longest && d.Beyond {
			t.Errorf("the difference is %+v, want it refused because of the durations of the logs exactly if it is about a longest stop, and then not beyond chance", d)
		}
	}
}
