package sinks

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// otlpOutages are the outages of a Collector.
var otlpOutages = []outage{
	{name: loses, proxy: loses, kind: "unavailable"},
	{name: "rejects the credentials", proxy: passes, kind: "unavailable",
		begin: func(r *rig, s server) { writeFile(r, s.(*collector).headers(), "Authorization: "+wrongToken, 0o600) },
		end:   func(r *rig, s server) { writeFile(r, s.(*collector).headers(), "Authorization: "+rightToken, 0o600) }},
	{name: "has a full disk",
		begin: func(r *rig, s server) {
			lab.Fill(r, filepath.Join(s.(*collector).out, "filler"))
			r.fails("")
		}, lasts: 2 * time.Second,
		end: func(r *rig, s server) { r.must(os.Remove(filepath.Join(s.(*collector).out, "filler"))) }},
}

func TestOTLPHasEachLine(t *testing.T) {
	table := lab.NewTable("OTLP: a Collector that fails", "fault", "lines", "repeated", "missing", "changed", "out of order")
	t.Cleanup(func() { table.Print(t) })
	for _, f := range slices.Concat(outages, otlpOutages) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			c := newCollector(t)
			way := f.way(t, c)
			if way != nil {
				way.token = rightToken
			}
			r := newLineRig(t, c, c.sink(way.endpoint()))
			r.begins(5000)
			r.arrives(2000)
			f.run(r.rig, c, way, nil)
			r.arrives(2000)
			o := r.settles()
			table.Add(f.name, o.lines, o.repeated, o.missing, o.changed, o.disordered)
			if !o.right() {
				t.Errorf("%v; want each line, unchanged and in order; the sidecar logged:\n%s", o, r.side.Stderr())
			}
		})
	}
}

// The sidecar is killed at arbitrary moments. Lines that it sends again have the same identity.
func TestOTLPAfterKills(t *testing.T) {
	c := newCollector(t)
	r := newLineRig(t, c, c.sink(""))
	r.begins(5000)
	r.killedOften(30, func(int) {})
	r.arrives(1)
	o := r.settles()
	t.Logf("after 30 kills: %v", o)
	if !o.right() {
		t.Errorf("the Collector received %v; want each line, unchanged and in order", o)
	}
}
