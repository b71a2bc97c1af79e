package sinks

import (
	"fmt"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// The destination is frozen so that lines are dropped, and meanwhile the server is down. Afterwards, the Collector
// has the same lines and markers as the segments.
func TestLinesAreDroppedWhileTheServerIsAway(t *testing.T) {
	c := newCollector(t)
	r := newLineRig(t, c, c.sink(""))
	r.floods()
	r.arrives(1000)
	c.Kill()
	r.drops()
	c.start()
	r.settlesFlood(func() string { return r.dest })
	o := r.compare()
	t.Logf("%v", o)
	if !o.right() {
		t.Error("the Collector's lines differ from the lines in the segments")
	}
}

// A server answers 200 and stores nothing. The sink cannot notice that, but the number of acknowledged lines
// differs from the number at the server by the number of missing lines.
func TestOTLPServerThatKeepsNothing(t *testing.T) {
	c := newCollector(t)
	p := newProxy(t, c.address(), c.pair())
	r := newLineRig(t, c, c.sink(p.URL))
	r.begins(5000)
	const began, ended = 1, 1 // the marks of the sidecar's start and end are lines too
	r.arrives(2000)
	p.fault.Store(swallows)
	r.arrives(2000)
	p.fault.Store(passes)
	r.arrives(2000)
	r.stop()
	lab.Eventually(t, patience, "all lines are acknowledged", func() bool { return int(r.sum("ullage_sink_lines_total")) == r.writer.Written()+began })
	acknowledged := int(r.sum("ullage_sink_lines_total")) + ended
	r.must(r.side.Stop(patience))
	kept := len(c.documents(t))
	o := r.compare()
	t.Logf("%d lines are acknowledged, the server has %d: %v", acknowledged, kept, o)
	if o.missing == 0 || acknowledged-kept != o.missing || o.changed+o.foreign+o.repeated > 0 {
		t.Error("want missing lines, no other difference, and the counts to differ by the number of missing lines")
	}
}

// TestMemoryOfLineSinks measures how much a sink for lines adds to the peak memory of a sidecar.
func TestMemoryOfLineSinks(t *testing.T) {
	table := lab.NewTable("memory of a sidecar at 20,000 lines/s for 15 s, most at any moment", "sink", "MiB", "more than without")
	t.Cleanup(func() { table.Print(t) })
	c, b := newCollector(t), newBroker(t)
	b.topic("lines")
	var without int64
	for _, sink := range []struct{ name, url string }{
		{"none", ""}, {"OTLP", c.sink("")}, {"Kafka", fmt.Sprintf("kafka://127.0.0.1:%d/lines", b.plainPort)},
	} {
		r := newRig(t, "", sink.url)
		if sink.url == "" {
			r.flags = r.flags[:len(r.flags)-2]
		}
		r.begins(20_000)
		time.Sleep(15 * time.Second)
		peak, err := r.side.PeakMemory()
		r.must(err)
		r.drains()
		if sink.url == "" {
			without = peak
		}
		more := peak - without
		table.Add(sink.name, fmt.Sprintf("%.1f", float64(peak)/(1<<20)), fmt.Sprintf("%.1f", float64(more)/(1<<20)))
		if more > 12<<20 { // 10 MiB were measured, for Kafka
			t.Errorf("%s adds %d bytes, want at most 12 MiB", sink.name, more)
		}
	}
}
