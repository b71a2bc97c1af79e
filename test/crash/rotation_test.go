package crash

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// rotationStorm returns logs that rotate about once in a scan interval of the sidecar: some milliseconds. Each
// archive has its own name, so none is overwritten, however late the sidecar is.
func rotationStorm(fileBytes int64) []lab.Output {
	return []lab.Output{
		{Rate: 80_000, Files: 1000, FileBytes: fileBytes},
		{Rate: 20_000, Files: 1000, FileBytes: fileBytes / 2},
		{Rate: 4_000},
	}
}

// TestRotationStormKeepsTheOrder causes rotations at every moment of a scan, with a sidecar of low priority. No
// process is killed.
func TestRotationStormKeepsTheOrder(t *testing.T) {
	runs, length, fileBytes := 4, 3*time.Second, int64(45_000)
	if os.Getenv("ULLAGE_FAULT_LONG") != "" {
		runs, length, fileBytes = 100, 8*time.Second, 125_000
	}
	for n := range runs {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			runRotationStorm(t, 19, length, rotationStorm(fileBytes))
		})
	}
}

// runRotationStorm runs writers and a sidecar with the given niceness and compares the persisted lines with the
// written lines.
func runRotationStorm(t *testing.T, niceness int, length time.Duration, outputs []lab.Output) {
	random := *seed
	if random == 0 {
		random = rand.Uint64()
	}
	source, dest := lab.Tmpfs(t, "256m"), t.TempDir()
	side, err := lab.StartCommand(exec.Command("nice", "-n", strconv.Itoa(niceness), lab.Binary(), "run",
		"--source", source, "--dest", dest, "--listen", "127.0.0.1:0", "--drain-timeout", "2m"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(side.Kill)
	stop, writers := startWriters(t, source, outputs, random)
	w := watch{source: source}
	w.live(side, length)
	if w.err != nil {
		t.Fatal(w.err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := side.Addr(lab.Patience); err != nil { // before the sidecar's first log line, a signal would kill it
		t.Fatal(err)
	}
	if err := side.Stop(lab.Patience); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the sidecar said:\n%s", side.Stderr())
		}
	})
	for i, writer := range writers {
		balance, err := lab.Check(dest, stream(i), writer)
		if err != nil || !balance.Exact() {
			t.Errorf("seed %d, %s: %v, error %v; want an exact balance and no error", random, stream(i), balance, err)
		}
	}
}

// TestRotationsBesideAFileThatFlows writes two files in turn, so that the kernel cannot merge their events:
// the event of a rotation comes after the events of thousands of lines. An archive exists for 0.4 s.
func TestRotationsBesideAFileThatFlows(t *testing.T) {
	runRotationStorm(t, 0, 3*time.Second, []lab.Output{{Rate: 10_000, Files: 2, FileBytes: 350_000}, {Rate: 10_000}})
}
