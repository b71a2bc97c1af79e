package sinks

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// What the sink adds to the memory of a sidecar, in one run with it and one without.
func TestKafkaMemory(t *testing.T) {
	b := newBroker(t)
	b.topic("lines")
	with := func(flags ...string) int64 {
		source := lab.Tmpfs(t, "64m")
		side := lab.Run(t, source, filepath.Join(t.TempDir(), "dest"), append(flags, "--drain-timeout", "60s")...)
		_, stop := lab.Write(t, lab.Output{Path: filepath.Join(source, stream), Seed: 1, Rate: 20_000})
		var most int64
		for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			most = max(most, resident(t, side.PID()))
		}
		stop()
		if err := side.Stop(3 * patience); err != nil {
			t.Error(err)
		}
		return most
	}
	without := with()
	most := with("--sink", fmt.Sprintf("kafka://127.0.0.1:%d/lines", b.plainPort))
	table := lab.NewTable("memory of a sidecar at 20,000 lines/s", "sinks", "most resident")
	table.Add("none", fmt.Sprintf("%.1f MiB", float64(without)/(1<<20)))
	table.Add("kafka", fmt.Sprintf("%.1f MiB", float64(most)/(1<<20)))
	table.Add("added", fmt.Sprintf("%.1f MiB", float64(most-without)/(1<<20)))
	table.Print(t)
	if added := most - without; added > 8<<20 {
		t.Errorf("the sink adds %d bytes", added)
	}
}

// resident returns the resident memory of a process (VmRSS).
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("no VmRSS")
	return 0
}
