package sinks

import (
	"fmt"
	"path/filepath"
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
			now, err := lab.Memory(side.PID())
			if err != nil {
				t.Fatal(err)
			}
			most = max(most, now)
		}
		stop()
		if err := side.Stop(3 * patience); err != nil {
			t.Error(err)
		}
		return most
	}
	without := with()
	most := with("--sink", fmt.Sprintf("kafka://127.0.0.1:%d/lines", b.plainPort))
	table := lab.NewTable("memory of a sidecar at 20,000 lines/s", "sinks", "most memory")
	table.Add("none", fmt.Sprintf("%.1f MiB", float64(without)/(1<<20)))
	table.Add("kafka", fmt.Sprintf("%.1f MiB", float64(most)/(1<<20)))
	table.Add("added", fmt.Sprintf("%.1f MiB", float64(most-without)/(1<<20)))
	table.Print(t)
	if added := most - without; added > 8<<20 {
		t.Errorf("the sink adds %d bytes", added)
	}
}
