package sinks

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

// document is a line that the Collector has stored.
type document struct{ uid, body string }

// lineRig is a rig whose sink is a Collector.
type lineRig struct {
	*rig
	collector *collector
}

func newLineRig(t *testing.T, c *collector, sinkURL string) *lineRig {
	t.Helper()
	return &lineRig{newRig(t, "ullage_sink_lines_total", sinkURL, "--segment-bytes", "1Mi", "--retain-age", "0", "--container-name", "app"), c}
}

// outcome is the result of a comparison of the segments with the Collector's documents.
type outcome struct {
	lines, repeated, missing, changed, foreign, disordered int
	first                                                  string // the first difference
}

func (o outcome) String() string {
	return fmt.Sprintf("%d lines, %d repeated, %d missing, %d changed, %d foreign, %d out of order %s", o.lines, o.repeated, o.missing, o.changed, o.foreign, o.disordered, o.first)
}

// right reports whether the Collector has each line, in order and unchanged.
func (o outcome) right() bool { return o.missing+o.changed+o.foreign+o.disordered == 0 && o.lines > 0 }

// settles drains the sidecar, compares the segments with the written lines, and compares the Collector's lines
// with the segments.
func (r *lineRig) settles() outcome {
	r.Helper()
	r.drains()
	r.balances(r.dest)
	return r.compare()
}

// compare compares the Collector's lines with the segments.
func (r *lineRig) compare() (o outcome) {
	r.Helper()
	expected, order := r.expected()
	seen := map[string]int{}
	last := map[string]int{} // the position of the last document, by stream
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

// expected returns the body and the position of each line in the segments, by the identity of the
// line.
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

// bodyOf returns the body that the Collector should have for a line.
func bodyOf(line string) string {
	if _, message, ok := strings.Cut(line, "] "); ok && line[0] == '[' {
		line = message
	}
	return strings.ToValidUTF8(line, "\ufffd")
}

// writeFile replaces a file atomically.
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
