package sinks

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

// document is a line as the Collector has it.
type document struct{ uid, body string }

// lineRig is a writer, a sidecar with a sink of lines, and a Collector.
type lineRig struct {
	*testing.T
	collector    *collector
	source, dest string
	flags        []string
	side         *lab.Sidecar
	writer       *lab.Writer
	stop         func()
}

const lineFlags = "--sync-interval 100ms --segment-bytes 1Mi --retain-age 0 --pod-namespace shop --pod-name web-0 --container-name app --drain-timeout 90s --sink"

func newLineRig(t *testing.T, c *collector, sinkURL string, rate int, flags ...string) *lineRig {
	t.Helper()
	r := &lineRig{T: t, collector: c, source: lab.Tmpfs(t, "64m"), dest: filepath.Join(t.TempDir(), "dest"), flags: append(append(flags, strings.Fields(lineFlags)...), sinkURL)}
	r.start()
	r.writer, r.stop = lab.Write(t, lab.Output{Path: filepath.Join(r.source, stream), Seed: 1, Rate: rate})
	return r
}

func (r *lineRig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *lineRig) start() {
	r.Helper()
	side, err := lab.StartCommand(exec.Command(lab.Binary(), append([]string{"run", "--source", r.source, "--dest", r.dest, "--listen", "127.0.0.1:0"}, r.flags...)...))
	r.must(err)
	r.side = side
	r.Cleanup(side.Kill)
}

// sum adds up the series of a metric that have all of these labels.
func (r *lineRig) sum(name string, labels ...string) (sum float64) {
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

// arrives waits until so many more lines are acknowledged.
func (r *lineRig) arrives(n float64) {
	r.Helper()
	end := r.sum("ullage_sink_lines_total") + n
	lab.Eventually(r, 4*patience, "lines are acknowledged", func() bool { return r.sum("ullage_sink_lines_total") >= end })
}

// fails waits until a delivery fails.
func (r *lineRig) fails(kind string) {
	r.Helper()
	lab.Eventually(r, 4*patience, "a delivery fails: "+kind, func() bool { return r.sum("ullage_sink_errors_total", `kind="`+kind) > 0 })
}

// outcome is what a comparison of the segments with the Collector's documents finds.
type outcome struct {
	lines, repeated, missing, changed, foreign, disordered int
	first                                                  string // thing that is wrong
}

func (o outcome) String() string {
	return fmt.Sprintf("%d lines, %d repeated, %d missing, %d changed, %d foreign, %d out of order %s", o.lines, o.repeated, o.missing, o.changed, o.foreign, o.disordered, o.first)
}

// right reports whether each line is there, in order and as it was.
func (o outcome) right() bool { return o.missing+o.changed+o.foreign+o.disordered == 0 && o.lines > 0 }

// settles drains everything. It compares the segments with what was written, and the
// Collector with the segments.
func (r *lineRig) settles() outcome {
	r.Helper()
	r.stop()
	if err := r.side.Stop(5 * patience); err != nil {
		r.Errorf("%v; the sidecar logged:\n%s", err, r.side.Stderr())
	}
	if balance, err := lab.Check(r.dest, stream, r.writer); err != nil || !balance.Exact() {
		r.Errorf("the segments: %v, error %v", balance, err)
	}
	return r.compare()
}

// compare compares the Collector with the segments.
func (r *lineRig) compare() (o outcome) {
	r.Helper()
	expected, order := r.expected()
	seen := map[string]int{}
	last := map[string]int{} // the place of the last document, by stream
	wrong := func(count *int, d document) {
		if *count++; o.first == "" {
			o.first = fmt.Sprintf("(first: %s %.200q, want %.200q)", d.uid, d.body, expected[d.uid])
		}
	}
	for _, d := range r.collector.documents(r.T) {
		want, ok := expected[d.uid]
		switch {
		case !ok:
			wrong(&o.foreign, d)
			continue
		case want != d.body:
			wrong(&o.changed, d)
		}
		if seen[d.uid]++; seen[d.uid] > 1 {
			o.repeated++
			continue
		}
		stream, _, _ := strings.Cut(strings.TrimPrefix(d.uid, "shop/web-0/app/"), "/")
		if order[d.uid] < last[stream] {
			wrong(&o.disordered, d)
		}
		last[stream] = order[d.uid]
	}
	o.lines, o.missing = len(expected), len(expected)-len(seen)
	return o
}

// expected returns the body of each line in the segments by its identity, and its place.
func (r *lineRig) expected() (bodies map[string]string, order map[string]int) {
	r.Helper()
	bodies, order = map[string]string{}, map[string]int{}
	streams, err := filepath.Glob(filepath.Join(r.dest, "[^.]*"))
	r.must(err)
	for _, dir := range streams {
		paths, err := lab.Segments(r.dest, filepath.Base(dir))
		r.must(err)
		for _, path := range paths {
			var raw bytes.Buffer
			r.must(lab.ReadSegment(&raw, path))
			offset := 0
			for line := range bytes.Lines(raw.Bytes()) {
				uid := fmt.Sprintf("shop/web-0/app/%s/%s/%d", filepath.Base(dir), filepath.Base(path), offset)
				order[uid] = len(order)
				bodies[uid] = bodyOf(string(bytes.TrimSuffix(line, []byte{'\n'})))
				offset += len(line)
			}
		}
	}
	return bodies, order
}

// bodyOf is a line as the Collector should have it.
func bodyOf(line string) string {
	if _, message, ok := strings.Cut(line, "] "); ok && line[0] == '[' {
		line = message
	}
	return strings.ToValidUTF8(line, "\ufffd")
}

// sinkTable collects the rows of a test's faults.
func sinkTable(t *testing.T, title string) *lab.Table {
	table := lab.NewTable(title, "fault", "lines", "repeated", "missing", "changed", "out of order", "counted as rejected")
	t.Cleanup(func() { table.Print(t) })
	return table
}

// writeFile replaces a file at once.
func writeFile(t testing.TB, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func escaped(text string) string { return url.QueryEscape(text) }
