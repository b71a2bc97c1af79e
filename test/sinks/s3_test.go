package sinks

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

// bucketRig is a rig whose sink is an S3 server.
type bucketRig struct {
	*rig
	gateway *gateway
}

func newBucketRig(t *testing.T, g *gateway, sinkURL string) *bucketRig {
	t.Helper()
	r := &bucketRig{newRig(t, "ullage_sink_segments_total", sinkURL, "--segment-bytes", "64Ki"), g}
	r.env = []string{"AWS_ACCESS_KEY_ID=ullage", "AWS_SECRET_ACCESS_KEY=" + g.secret}
	return r
}

// settles drains the sidecar and compares the bucket with the written lines.
func (r *bucketRig) settles() {
	r.Helper()
	r.drains()
	r.balances(r.gateway.collect())
}

// The lines in the bucket can be read back unchanged, and can be selected by pod and level.
func TestS3IsReadBack(t *testing.T) {
	g := newGateway(t)
	r := newBucketRig(t, g, g.url("", ""))
	r.begins(10_000)
	r.arrives(3)
	r.settles()
	read := func(url string, flags ...string) []byte {
		t.Helper()
		cmd := exec.Command(lab.Binary(), append(append([]string{"logs"}, flags...), url)...)
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
		t.Errorf("%d bytes were read from the bucket, want the same %d bytes as from the destination", len(all), len(want))
	}
	if got := read(url + "&namespace=shop&pod=web-0"); !bytes.Equal(got, all) {
		t.Errorf("%d bytes were read for the pod, want %d", len(got), len(all))
	}
	warnings := read(url, "--level", "warning")
	if len(warnings) == 0 || bytes.Contains(warnings, []byte("][debug]")) || len(warnings) >= len(all) {
		t.Errorf("%d bytes were read at level warning, of %d in total; want some, not all, and no debug line", len(warnings), len(all))
	}
	index, err := filepath.Glob(filepath.Join(g.root, bucketName, "prod", "index", "namespace=shop", "pod=web-0", "container=*", "date=*", "*.json"))
	if err != nil || len(index) == 0 {
		t.Fatalf("index objects: %v, error %v, want some", index, err)
	}
	var text []byte
	for _, path := range index { // one of them is the index of the marks
		part, err := os.ReadFile(path)
		r.must(err)
		text = append(text, part...)
	}
	if !strings.Contains(string(text), `"stream":"`+stream+`"`) {
		t.Errorf("the index is %.200s, want the stream %s in it", text, stream)
	}
}

// A quiet stream's newest segment is sealed and uploaded after --upload-age.
func TestS3HasAQuietLogSoon(t *testing.T) {
	g := newGateway(t)
	r := newBucketRig(t, g, g.url("", ""))
	r.begins(10_000)
	r.arrives(1)
	r.stop()
	r.side.Kill()
	r.flags = append(r.flags, "--upload-age", "2s", "--segment-bytes", "64Mi")
	r.start()
	lab.Eventually(t, patience, "the rest is uploaded", func() bool {
		return r.sum("ullage_sink_lag_seconds") == 0 && r.sum("ullage_sink_backlog_bytes") == 0 && r.sum("ullage_sink_segments_total") > 0
	})
	r.settles()
}
