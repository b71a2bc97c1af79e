package sinks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/test/lab"
)

// podsRig has the logs of three pods, web-0 to web-2, in their destinations and in a bucket.
type podsRig struct {
	*testing.T
	gateway *gateway
	dests   []string
	env     []string
}

func newPodsRig(t *testing.T) *podsRig {
	r := &podsRig{T: t, gateway: newGateway(t)}
	for i, sample := range []string{"g1-jdk25.log", "g1-jdk17.log", "serial-jdk25.log"} {
		pod := newBucketRig(t, r.gateway, r.url())
		pod.flags = append(pod.flags, "--pod-name", fmt.Sprintf("web-%d", i))
		pod.start()
		text, err := os.ReadFile(filepath.Join("..", "..", "internal", "line", "pause", "testdata", sample))
		pod.must(err)
		writeFile(t, filepath.Join(pod.source, stream), string(text), 0o644)
		_, err = pod.side.Addr(patience)
		pod.must(err)
		pod.must(pod.side.Stop(5 * patience))
		r.dests, r.env = append(r.dests, pod.dest), pod.env
	}
	return r
}

func (r *podsRig) url() string { return r.gateway.url("", "") }

// report runs ullage report, which must leave no temporary files.
func (r *podsRig) report(args ...string) (out string, failed error) {
	r.Helper()
	var stdout, stderr bytes.Buffer
	tmp := r.TempDir()
	cmd := exec.Command(lab.Binary(), append([]string{"report"}, args...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), append(r.env, "TMPDIR="+tmp)...), &stdout, &stderr
	failed = cmd.Run()
	if left, err := filepath.Glob(filepath.Join(tmp, "*")); err != nil || len(left) > 0 {
		r.Errorf("temporary files are left: %q, %v, want none", left, err)
	}
	return stdout.String() + stderr.String(), failed
}

// table is a comparison.
type table struct {
	Logs   []row
	Unread []struct{ Name, Why string }
	Marked int
}

type row struct {
	Name     string
	Complete bool
	Values   []*float64
}

func (r *podsRig) compared(args ...string) (is table) {
	r.Helper()
	out, err := r.report(append([]string{"--compare", "--json"}, args...)...)
	if err == nil {
		err = json.Unmarshal([]byte(out), &is)
	}
	if err != nil {
		r.Fatalf("%v\n%s", err, out)
	}
	return is
}

// files returns the segments of a stream of a pod in the bucket.
func (r *podsRig) files(pod, stream string) []string {
	r.Helper()
	found, err := filepath.Glob(filepath.Join(r.gateway.bucket(), "prod", "log", "namespace=shop", "pod="+pod, "*", "stream="+stream, "*", "*"))
	if err != nil || len(found) == 0 {
		r.Fatalf("segments of %s: %q, %v, want some", stream, found, err)
	}
	return found
}

// differs says how a comparison of the pods differs from the comparison of their destinations. Values may differ by the
// fraction off, and shares of the time by five times that fraction: the sample logs are about a second long, and marks
// do not cover lines after the last event.
func (r *podsRig) differs(got, want table, off float64) string {
	overTime := []int{0, 7, 8}
	if len(got.Logs) != 3 || len(got.Unread) != 0 {
		return fmt.Sprintf("%d logs, and %v unread; want 3 and none", len(got.Logs), got.Unread)
	}
	for _, log := range want.Logs {
		name := fmt.Sprintf("shop/web-%d", slices.Index(r.dests, log.Name))
		at := slices.IndexFunc(got.Logs, func(l row) bool { return l.Name == name })
		if at < 0 || got.Logs[at].Complete != log.Complete {
			return fmt.Sprintf("%s is not there, or not as complete as in its destination: %+v", name, got.Logs)
		}
		for i, b := range got.Logs[at].Values {
			a, off := log.Values[i], off
			if slices.Contains(overTime, i) {
				off *= 5
			}
			if (a == nil) != (b == nil) || a != nil && math.Abs(*a-*b) > off*math.Abs(*a) {
				return fmt.Sprintf("%s: figure %d is %s, want %s", name, i, known(b), known(a))
			}
		}
	}
	return ""
}

// known formats a figure, which is nil if the log does not show it.
func known(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return fmt.Sprint(*v)
}

// A report on a pod in a bucket is the same as the report on the pod's destination.
func TestS3IsReported(t *testing.T) {
	r := newPodsRig(t)
	url := r.url() + "&namespace=shop&pod=web-1"
	one, err := r.report("--text", url)
	local, err2 := r.report("--text", r.dests[1])
	dated := regexp.MustCompile(`20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z`) // estimates: from the commit in the destination, from the upload in the bucket
	local = dated.ReplaceAllString(strings.ReplaceAll(local, r.dests[1], url), "then")
	if one = dated.ReplaceAllString(one, "then"); err != nil || err2 != nil || local != one {
		t.Errorf("errors %v, %v; want no error and the same report on both: the report on the bucket:\n%s\nthe report on the destination:\n%s", err, err2, one, local)
	}
}

// A comparison of the pods in a bucket shows what a comparison of their destinations shows. It reads the sidecars' marks
// and not the logs, unless the marks do not have the answer. If the log of a pod is read and a segment of it is cut off,
// the comparison reports the pod as unread or as not complete.
func TestS3IsCompared(t *testing.T) {
	r := newPodsRig(t)
	want, url := r.compared(r.dests...), r.url()
	same := func(when string, got table, marked int, off float64) {
		t.Helper()
		if differs := r.differs(got, want, off); differs != "" || got.Marked != marked {
			t.Errorf("%s: %d logs were compared by their marks, want %d; %s", when, got.Marked, marked, differs)
		}
	}
	same("at first", r.compared(url), 3, 0.02)
	same("with a window", r.compared("--since", "2h", url), 3, 0.02)
	same("with a short window", r.compared("--since", "55m", url), 0, 0)
	same("with another floor than the sidecar's", r.compared("--stall-floor", "99ms", url), 0, 0)

	segments := r.files("web-2", stream)
	if err := os.Truncate(segments[len(segments)-1], 100); err != nil {
		t.Fatal(err)
	}
	same("a segment of web-2 is cut off", r.compared(url), 3, 0.02)

	begun := r.files("web-1", stream)[0]
	name := regexp.MustCompile(`^\d{8}`).ReplaceAllString(filepath.Base(begun), "20261101")
	earlier := filepath.Join(filepath.Dir(filepath.Dir(begun)), "date=2026-11-01", name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(earlier), 0o755), os.Rename(begun, earlier)); err != nil {
		t.Fatal(err)
	}
	same("the log of web-1 begins before its marks", r.compared(url), 2, 0.02)

	for _, file := range r.files("web-2", mark.Stream) {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.compared(url); got.Marked != 1 || len(got.Logs)+len(got.Unread) != 3 || len(got.Logs) == 3 && slices.ContainsFunc(got.Logs, func(l row) bool { return l.Name == "shop/web-2" && l.Complete }) {
		t.Errorf("a segment of web-2 is cut off, and its marks are gone: got %+v, want 3 logs in total, 1 of them by marks, and shop/web-2 unread or not complete", got)
	}
}
