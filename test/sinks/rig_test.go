package sinks

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

func TestMain(m *testing.M) { lab.Main(m) }

const (
	stream   = "gc.log"
	patience = lab.Patience
)

// rig is a writer and a sidecar with a sink.
type rig struct {
	*testing.T
	counts       string // the metric that counts what the sink's server has acknowledged: lines or segments
	source, dest string
	flags, env   []string
	side         *lab.Sidecar
	writer       *lab.Writer
	stop         func() // stops the writer

	volume *lab.Volume // the volume of the destination, if that can be frozen
	flood  *lab.Flooding
}

// newRig returns a rig. It starts neither the sidecar nor the writer.
func newRig(t *testing.T, counts, sinkURL string, flags ...string) *rig {
	t.Helper()
	return &rig{T: t, counts: counts, source: lab.Tmpfs(t, "64m"), dest: filepath.Join(t.TempDir(), "dest"),
		flags: append(flags, "--sync-interval", "100ms", "--pod-namespace", "shop", "--pod-name", "web-0", "--drain-timeout", "90s", "--sink", sinkURL)}
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// start starts a sidecar.
func (r *rig) start() {
	r.Helper()
	cmd := exec.Command(lab.Binary(), append([]string{"run", "--source", r.source, "--dest", r.dest, "--listen", "127.0.0.1:0"}, r.flags...)...)
	cmd.Env = append(os.Environ(), r.env...)
	side, err := lab.StartCommand(cmd)
	r.must(err)
	r.side = side
	r.Cleanup(func() {
		side.Kill()
		if r.Failed() && side == r.side {
			r.Logf("the sidecar logged:\n%s", side.Stderr())
		}
	})
}

// begins starts a sidecar, and a writer with the given number of lines a second.
func (r *rig) begins(rate int) {
	r.Helper()
	r.start()
	r.writer, r.stop = lab.Write(r, lab.Output{Path: filepath.Join(r.source, stream), Seed: 1, Rate: rate})
}

// floods starts a flood and a sidecar. The destination is on a volume that [rig.drops] can freeze.
func (r *rig) floods() {
	r.Helper()
	r.volume = lab.MountVolume(r, "256M")
	r.dest, r.flags = filepath.Join(r.volume.Dir, "dest"), append(r.flags, "--budget", "1Mi")
	r.start()
	r.flood = lab.RunFlood(r, lab.Flood{Path: filepath.Join(r.source, stream), Seed: 1, Rate: 3 << 20})
}

// drops freezes the destination until lines are dropped.
func (r *rig) drops() {
	r.Helper()
	thaw := r.volume.Frozen(r)
	defer thaw()
	lab.Eventually(r, 2*patience, "lines are dropped", func() bool { return r.sum("ullage_dropped_lines_total") > 0 })
}

// settlesFlood stops the flood and then the sidecar. It draws up the account for the directory that collect
// returns.
func (r *rig) settlesFlood(collect func() (dest string)) lab.Account {
	r.Helper()
	report, err := r.flood.Stop()
	r.must(err)
	if err := r.side.Stop(5 * patience); err != nil {
		r.Error(err)
	}
	account, err := lab.Settle(collect(), stream, report)
	r.Logf("%v", account)
	if err != nil || !account.Exact() || account.Dropped.Total().Total() == 0 {
		r.Errorf("got %v, error %v; want an exact account with dropped lines", account, err)
	}
	return account
}

// sum adds up the series of a metric that have all the labels.
func (r *rig) sum(name string, labels ...string) (sum float64) {
	r.Helper()
	_, text, err := r.side.Get("/metrics")
	r.must(err)
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, name+"{") || slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(line, l) }) {
			continue
		}
		var value float64
		if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &value); err == nil {
			sum += value
		}
	}
	return sum
}

// arrives waits until the server has acknowledged n more lines or segments.
func (r *rig) arrives(n float64) {
	r.Helper()
	end := r.sum(r.counts) + n
	lab.Eventually(r, 4*patience, "the server acknowledges", func() bool { return r.sum(r.counts) >= end })
}

// fails waits until a delivery fails with an error of the given kind; an empty kind matches any error. For the kind
// unavailable, a timeout is accepted too.
func (r *rig) fails(kind string) {
	r.Helper()
	lab.Eventually(r, 4*patience, "a delivery fails: "+kind, func() bool {
		return r.sum("ullage_sink_errors_total", `kind="`+kind) > 0 || kind == "unavailable" && r.sum("ullage_sink_errors_total", `kind="timeout"`) > 0
	})
}

// drains stops the writer and then the sidecar, which sends the rest.
func (r *rig) drains() {
	r.Helper()
	r.stop()
	if err := r.side.Stop(5 * patience); err != nil {
		r.Error(err)
	}
}

// balances compares the lines in a destination directory with the written lines.
func (r *rig) balances(dest string) {
	r.Helper()
	balance, err := lab.Check(dest, stream, r.writer)
	r.Logf("%v", balance)
	if err != nil || !balance.Exact() {
		r.Errorf("got %v, error %v; want each line once, byte-identical", balance, err)
	}
}

// killedOften kills the sidecar at moments that do not depend on any event. Before each kill it calls f.
func (r *rig) killedOften(times int, f func(n int)) {
	r.Helper()
	for n := range times {
		f(n)
		time.Sleep(time.Duration(20+(n*7919)%600) * time.Millisecond)
		r.side.Kill()
		r.start()
	}
}
