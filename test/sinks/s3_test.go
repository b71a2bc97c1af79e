package sinks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
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

// The lines in the bucket are read back unchanged, and by pod and level.
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
		t.Errorf("%d bytes were read from the bucket, %d from the destination", len(all), len(want))
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

// A comparison of the pods in a bucket shows what a comparison of their destinations shows, and so does a report. A pod
// of which a segment is cut off is named, and not compared.
func TestS3IsReportedAndCompared(t *testing.T) {
	g := newGateway(t)
	var dests, env []string
	for i, sample := range []string{"g1-jdk25.log", "g1-jdk17.log", "serial-jdk25.log"} {
		r := newBucketRig(t, g, g.url("", ""))
		r.flags = append(r.flags, "--pod-name", fmt.Sprintf("web-%d", i))
		r.start()
		text, err := os.ReadFile(filepath.Join("..", "..", "internal", "line", "pause", "testdata", sample))
		r.must(err)
		writeFile(t, filepath.Join(r.source, stream), string(text), 0o644)
		_, err = r.side.Addr(patience)
		r.must(err)
		r.must(r.side.Stop(5 * patience))
		dests, env = append(dests, r.dest), r.env
	}
	report := func(args ...string) (out string, failed error) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		cmd := exec.Command(lab.Binary(), append([]string{"report"}, args...)...)
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), append(env, "TMPDIR="+t.TempDir())...), &stdout, &stderr
		failed = cmd.Run()
		if left, err := filepath.Glob(filepath.Join(cmd.Env[len(cmd.Env)-1][len("TMPDIR="):], "*")); err != nil || len(left) > 0 {
			t.Errorf("temporary files are left: %q, %v, want none", left, err)
		}
		return stdout.String() + stderr.String(), failed
	}
	type row struct {
		Name     string
		Complete bool
		Values   []*float64
	}
	type table struct {
		Figures []any
		Logs    []row
		Unread  []struct{ Name, Why string }
	}
	compared := func(args ...string) (is table) {
		t.Helper()
		out, err := report(append([]string{"--compare", "--json"}, args...)...)
		if err == nil {
			err = json.Unmarshal([]byte(out), &is)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return is
	}
	url := g.url("", "")
	want, got := compared(dests...), compared(url)
	if !reflect.DeepEqual(got.Figures, want.Figures) || len(got.Logs) != 3 || len(got.Unread) != 0 {
		t.Errorf("the bucket has %+v\nthe destinations have %+v", got, want)
	}
	for i, log := range got.Logs {
		if name := fmt.Sprintf("shop/web-%d", slices.Index(dests, want.Logs[i].Name)); log.Name != name || log.Complete != want.Logs[i].Complete || !reflect.DeepEqual(log.Values, want.Logs[i].Values) {
			t.Errorf("the bucket's row %d is %+v, want %s with %+v", i, log, name, want.Logs[i])
		}
	}
	one, err := report("--text", url+"&namespace=shop&pod=web-1")
	local, err2 := report("--text", dests[1])
	dated := regexp.MustCompile(`20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z`) // estimated from the time of the commit there, and of the upload here
	local = dated.ReplaceAllString(strings.ReplaceAll(local, dests[1], url+"&namespace=shop&pod=web-1"), "then")
	if one = dated.ReplaceAllString(one, "then"); err != nil || err2 != nil || local != one {
		t.Errorf("errors %v, %v; want no error and the same report on both: the report on the bucket:\n%s\nthe report on the destination:\n%s", err, err2, one, local)
	}
	segments, err := filepath.Glob(filepath.Join(g.bucket(), "prod", "log", "namespace=shop", "pod=web-2", "*", "stream="+stream, "*", "*"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("segments %q, %v, want some", segments, err)
	}
	if err := os.Truncate(segments[len(segments)-1], 100); err != nil {
		t.Fatal(err)
	}
	if got := compared(url); len(got.Logs)+len(got.Unread) != 3 || len(got.Logs) == 3 && slices.ContainsFunc(got.Logs, func(l row) bool { return l.Name == "shop/web-2" && l.Complete }) {
		t.Errorf("a segment of web-2 is cut off: got %+v, want 3 logs in total, and shop/web-2 unread or not complete", got)
	}
}
