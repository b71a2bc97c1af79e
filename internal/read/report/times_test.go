package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// The totals of the same logs are the same in every report, to the last bit: the spans of streams are added in one
// order.
func TestTwoReportsOnTheSameStreamsAgree(t *testing.T) {
	dir := t.TempDir()
	for i := range 12 {
		put(t, dir, fmt.Sprintf("%d.log", i), young(0, 1, 0.1)+young(1, 11.1+0.37*float64(i*i*i), 0.7))
	}
	first := reportOn(t, Config{}, dir)
	for range 50 {
		if r := reportOn(t, Config{}, dir); r.Totals.Span != first.Totals.Span || *r.Totals.Throughput != *first.Totals.Throughput {
			t.Fatalf("two reports have the spans %v and %v and the throughputs %v and %v, want the same", r.Totals.Span, first.Totals.Span, *r.Totals.Throughput, *first.Totals.Throughput)
		}
	}
}

// Streams of two directories may have the same name: in a container, the process ID of every JVM is 1.
func TestAStreamWithoutStopsIsNotInTheThroughputOfItsNamesake(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := errors.Join(os.Mkdir(a, 0o700), os.Mkdir(b, 0o700)); err != nil {
		t.Fatal(err)
	}
	put(t, a, "gc-1.log", young(0, 1, 500)+young(1, 11, 500))
	put(t, b, "gc-1.log", "[1.000s][info][class,load] java.lang.Object source: jrt:/java.base\n[101.000s][info][class,load] java.lang.String source: jrt:/java.base\n")
	r := reportOn(t, Config{}, a, b)
	if x := &r.Totals; len(r.Runs) != 2 || x.Span != 10 || x.Throughput == nil || *x.Throughput != 0.9 {
		t.Errorf("the totals are %+v, want 10 s and a throughput of 0.9", r.Totals)
	}
	for i, run := range r.Runs {
		if (run.Throughput == nil) != (run.Stops == 0) {
			t.Errorf("run %d has %d stops and the throughput %s, want one only with stops", i, run.Stops, shown(run.Throughput))
		}
	}
}
