package sinks

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// BenchmarkDown measures what a sink costs the sidecar. Three sidecars run at the same time with the same load:
// without a sink, with a sink, and with a sink whose server is always down. It takes 30 s, or 10 minutes with
// ULLAGE_FAULT_LONG.
func BenchmarkDown(b *testing.B) {
	long := 30 * time.Second
	if os.Getenv("ULLAGE_FAULT_LONG") != "" {
		long = 10 * time.Minute
	}
	up, down := newGatewayIn(b, b.TempDir()), newGatewayIn(b, b.TempDir())
	down.Kill()
	for b.Loop() {
		var all []*measured
		for _, c := range []struct {
			name string
			at   *gateway
		}{{"no sink", nil}, {"S3", up}, {"S3, down", down}} {
			all = append(all, measure(b, c.name, c.at))
		}
		time.Sleep(long)
		table := lab.NewTable(fmt.Sprintf("Three sidecars side by side for %s, 1 MiB/s each", long), "sink", "CPU of a core", "commit, mean", "commit, median (upper bound)", "write p99.99", "most memory", "objects")
		for _, m := range all {
			m.end(b, table, long)
		}
		table.Print(b)
	}
}

// measured is a sidecar under load.
type measured struct {
	name  string
	side  *lab.Sidecar
	flood *lab.Flooding
}

func measure(b *testing.B, name string, g *gateway) *measured {
	b.Helper()
	source := lab.Tmpfs(b, "64m")
	args := []string{"run", "--source", source, "--dest", filepath.Join(b.TempDir(), "dest"), "--listen", "127.0.0.1:0", "--segment-bytes", "256Ki", "--drain-timeout", "1s"}
	cmd := exec.Command(lab.Binary(), args...)
	if g != nil {
		cmd.Args = append(cmd.Args, "--sink", g.url("", ""), "--pod-namespace", "shop", "--pod-name", "web-0")
		cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=ullage", "AWS_SECRET_ACCESS_KEY="+g.secret)
	}
	side, err := lab.StartCommand(cmd)
	must(b, err)
	b.Cleanup(side.Kill)
	return &measured{name: name, side: side, flood: lab.RunFlood(b, lab.Flood{Path: filepath.Join(source, stream), Seed: 1, Rate: 1 << 20})}
}

// end adds the sidecar's row to the table and ends the sidecar.
func (m *measured) end(b *testing.B, table *lab.Table, long time.Duration) {
	b.Helper()
	cpu := m.cpu(b)
	peak, err := m.side.PeakMemory()
	must(b, err)
	_, text, err := m.side.Get("/metrics")
	must(b, err)
	objects, err := m.side.Metric(`ullage_sink_segments_total{sink="s3"}`)
	must(b, err)
	_, err = m.flood.Stop()
	must(b, err)
	m.side.Kill()
	table.Add(m.name, fmt.Sprintf("%.2f %%", 100*cpu.Seconds()/long.Seconds()), mean(b, text), median(b, text), m.flood.Latency(0).P9999,
		fmt.Sprintf("%.1f MiB", float64(peak)/(1<<20)), objects)
}

// cpu returns the processor time that the sidecar has used.
func (m *measured) cpu(b *testing.B) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.side.PID()))
	must(b, err)
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	must(b, err)
	system, err := strconv.Atoi(fields[12])
	must(b, err)
	return time.Duration(user+system) * 10 * time.Millisecond // USER_HZ is 100
}

const commitSeries = "ullage_commit_duration_seconds_"

// commits returns the sum or the count of the commit durations in the metrics.
func commits(b *testing.B, metrics, which string) float64 {
	b.Helper()
	_, rest, _ := strings.Cut(metrics, "\n"+commitSeries+which+" ")
	text, _, _ := strings.Cut(rest, "\n")
	value, err := strconv.ParseFloat(text, 64)
	must(b, err)
	return value
}

func mean(b *testing.B, metrics string) time.Duration {
	b.Helper()
	return time.Duration(commits(b, metrics, "sum") / commits(b, metrics, "count") * float64(time.Second))
}

// median returns the upper bound of the bucket that contains the median commit duration.
func median(b *testing.B, metrics string) time.Duration {
	b.Helper()
	count := commits(b, metrics, "count")
	for line := range strings.Lines(metrics) {
		bound, ok := strings.CutPrefix(line, commitSeries+`bucket{le="`)
		if !ok {
			continue
		}
		at, value, _ := strings.Cut(bound, `"} `)
		n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		must(b, err)
		if le, err := strconv.ParseFloat(at, 64); err == nil && n >= count/2 {
			return time.Duration(le * float64(time.Second))
		}
	}
	b.Fatal("no bucket of the metrics has the median commit duration, want one")
	return 0
}
