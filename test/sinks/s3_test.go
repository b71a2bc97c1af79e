package sinks

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

const stream = "gc.log"

// rig is a writer, a sidecar with a sink, and an S3 server.
type rig struct {
	*testing.T
	gateway      *gateway
	source, dest string
	flags        []string
	env          []string
	side         *lab.Sidecar
	writer       *lab.Writer
	stop         func()
}

// newRig starts everything.
func newRig(t *testing.T, g *gateway, sinkURL string) *rig {
	t.Helper()
	r := &rig{T: t, gateway: g, source: lab.Tmpfs(t, "64m"), dest: filepath.Join(t.TempDir(), "dest"),
		env: []string{"AWS_ACCESS_KEY_ID=ullage", "AWS_SECRET_ACCESS_KEY=" + g.secret},
		flags: []string{"--sync-interval", "100ms", "--segment-bytes", "64Ki", "--pod-namespace", "shop", "--pod-name", "web-0",
			"--drain-timeout", "60s", "--sink", sinkURL}}
	r.start()
	r.writer, r.stop = lab.Write(t, lab.Output{Path: filepath.Join(r.source, stream), Seed: 1, Rate: 10_000})
	return r
}

// start starts a sidecar.
func (r *rig) start() {
	r.Helper()
	args := append([]string{"run", "--source", r.source, "--dest", r.dest, "--listen", "127.0.0.1:0"}, r.flags...)
	cmd := exec.Command(lab.Binary(), args...)
	cmd.Env = append(os.Environ(), r.env...)
	side, err := lab.StartCommand(cmd)
	if err != nil {
		r.Fatal(err)
	}
	r.side = side
	r.Cleanup(side.Kill)
}

func (r *rig) metric(name string) float64 {
	r.Helper()
	value, err := r.side.Metric(name + `{sink="s3"}`)
	if err != nil {
		r.Fatal(err)
	}
	return value
}

// uploads waits until so many more segments are acknowledged.
func (r *rig) uploads(n float64) {
	r.Helper()
	end := r.metric("ullage_sink_segments_total") + n
	lab.Eventually(r, 4*patience, "segments are uploaded", func() bool { return r.metric("ullage_sink_segments_total") >= end })
}

// fails waits until a delivery fails.
func (r *rig) fails(kind string) {
	r.Helper()
	lab.Eventually(r, 3*patience, "an upload fails: "+kind, func() bool {
		n, err := r.side.Metric(fmt.Sprintf(`ullage_sink_errors_total{kind=%q,sink="s3"}`, kind))
		return err == nil && n > 0
	})
}

// settles drains everything, and compares the bucket with what was written.
func (r *rig) settles() {
	r.Helper()
	r.stop()
	if err := r.side.Stop(3 * patience); err != nil {
		r.Error(err)
	}
	balance, err := lab.Check(r.gateway.collect(), stream, r.writer)
	r.Logf("in the bucket: %v", balance)
	if err != nil || !balance.Exact() {
		r.Errorf("the bucket: %v, error: %v; the sidecar logged:\n%s", balance, err, r.side.Stderr())
	}
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// A pod without a log for hours is as well in the bucket after --upload-age, and what
// was uploaded is read back as it was written.
func TestS3IsReadBack(t *testing.T) {
	g := newGateway(t)
	r := newRig(t, g, g.url("", ""))
	r.uploads(3)
	r.settles()
	read := func(url string, flags ...string) []byte {
		t.Helper()
		cmd := exec.Command(lab.Binary(), append(append([]string{"cat"}, flags...), url)...)
		cmd.Env = append(os.Environ(), r.env...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	url := g.url("", "")
	all := read(url)
	if want := read(filepath.Join(r.dest, stream)); !bytes.Equal(all, want) {
		t.Errorf("%d bytes were read from the bucket, %d from the destination", len(all), len(want))
	}
	if got := read(url + "&namespace=shop&pod=web-0"); !bytes.Equal(got, all) {
		t.Errorf("%d bytes of the pod, want %d", len(got), len(all))
	}
	warnings := read(url, "--level", "warning")
	if len(warnings) == 0 || bytes.Contains(warnings, []byte("][debug]")) || len(warnings) >= len(all) {
		t.Errorf("%d bytes at warning, of %d", len(warnings), len(all))
	}
	index, err := filepath.Glob(filepath.Join(g.root, bucketName, "prod", "index", "namespace=shop", "pod=web-0", "container=*", "date=*", "*.json"))
	if err != nil || len(index) == 0 {
		t.Fatalf("index objects: %v, error %v", index, err)
	}
	var text []byte
	for _, path := range index { // one is of the marks
		part, err := os.ReadFile(path)
		r.must(err)
		text = append(text, part...)
	}
	if !strings.Contains(string(text), `"stream":"`+stream+`"`) {
		t.Errorf("the index is %.200s", text)
	}
}

// A quiet stream's newest segment is sealed and uploaded after --upload-age.
func TestS3HasAQuietLogSoon(t *testing.T) {
	g := newGateway(t)
	r := newRig(t, g, g.url("", ""))
	r.uploads(1)
	r.stop()
	r.side.Kill()
	r.flags = append(r.flags, "--upload-age", "2s", "--segment-bytes", "64Mi")
	r.start()
	lab.Eventually(t, patience, "the rest is uploaded", func() bool {
		return r.metric("ullage_sink_lag_seconds") == 0 && r.metric("ullage_sink_backlog_bytes") == 0 && r.metric("ullage_sink_segments_total") > 0
	})
	r.settles()
}
