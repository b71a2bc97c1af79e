package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/cli"
)

// full is a status in which each number has its widest form.
func full() admin.Status {
	started := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	st := admin.Status{
		Version: "v0.1.0", Started: started, UptimeSeconds: 11524.2,
		Where: admin.Where{Source: "/var/log/jvm", Destination: "/var/lib/ullage"}, Ready: true,
		Reclaim: admin.Reclaim{Mode: "punch", Why: "auto: the tmpfs can punch holes"}, Compress: "zstd",
		Space: admin.Space{BacklogBytes: 1258291, SpooledBytes: 1 << 20, HeadroomBytes: 60 << 20, BudgetBytes: 64 << 20, BudgetUsedBytes: 6 << 20, QueueUsedBytes: 4096, QueueCapacityBytes: 4 << 20,
			Rings: []admin.Ring{{Name: "events-7-1763722140123.ring", PID: 7, CapacityBytes: 2 << 20, UsedBytes: 12 << 10},
				{Name: "events-8-1763722140123.ring", CapacityBytes: 2 << 20, Abandoned: true, Ended: true, Problem: "the ring has 0 bytes"}}},
		Progress: admin.Progress{LagSeconds: 0.4, LastCommit: started.Add(11523 * time.Second)},
		Lines: admin.Lines{Read: admin.Volume{Lines: 1234567, Bytes: 5 << 30}, Persisted: admin.Volume{Lines: 1234000, Bytes: 5 << 30},
			Dropped: admin.Volume{Lines: 500, Bytes: 60000}, Dropping: "discard",
			ByLevel: map[string]int64{"info": 1233990, "error": 10}, Events: 1200, EventsDropped: 30,
			DroppedBy: map[string]map[string]int64{"discard": {"info": 400, "debug": 90}, "drop": {"warning": 10}},
			JVMLost:   admin.JVMLost{Async: 7, Cut: 1}, JVMCrashes: 2},
		Held: admin.Held{Reaches: started, Segments: 80, DeletedSegments: 12, CutBytes: 4096, FreeBytes: 10 << 30},
		Sinks: []admin.Sink{{Name: "s3", LagSeconds: 1.5, BacklogBytes: 1 << 20, Segments: 12, Bytes: 48 << 20},
			{Name: "near", Lines: 1000, Bytes: 1 << 20, RejectedLines: 2, RejectedBytes: 300, SkippedSegments: 3, Note: "at least once", Failure: "no connection"}},
		JVMEnd:  &admin.JVMEnd{At: started.Add(11500 * time.Second), PID: 7, Stream: "gc-7.log", How: "killed", Cause: "memory-limit", Why: "the kernel killed it"},
		Ignored: map[string]int64{"symlink": 2, "fifo": 1}, StreamsOmitted: 7,
		Levels: &admin.Levels{
			Raise: &admin.Raise{Cause: "annotation", Why: "annotation ullage.dev/log", Selection: "gc*=debug", Stream: "gc-*.log", Since: started,
				Until: time.Date(2026, 11, 20, 10, 15, 0, 0, time.Local)},
			App:         &admin.AppRaise{Level: "debug", Until: time.Date(2026, 11, 20, 10, 20, 0, 0, time.Local)},
			JVMs:        []admin.JVM{{PID: 1, Applied: "gc*=debug", Outputs: []string{"file=/var/log/jvm/gc-%p.log"}}, {PID: 77, Error: "pid 77: timeout", Kind: "timeout"}},
			Annotations: []admin.Annotation{{Key: "ullage.dev/log-for", Value: "soon\x1b", Problem: "write it like 15m"}},
			Errors:      []string{"pid 77: timeout"},
			OtherLogs:   []string{"pid 1: /data/gc.log"},
			Trigger:     &admin.Trigger{Conditions: "pause>500ms,io-stall", Disarmed: "a raise is in effect", Never: "io-stall can never be met", Missed: 1200},
		},
	}
	st.Streams = append(st.Streams, admin.Stream{Name: "gc.log", Format: "ul", Files: 2, PersistedLines: 1234000, PersistedBytes: 5 << 30, BacklogBytes: 1258291,
		Segment: "20261120T100000.000Z-000001.log.zst", SegmentBytes: 48 << 20})
	st.Streams = append(st.Streams, admin.Stream{Name: "a-very-long-name-of-a-service-\x1b[2J7.log", Format: "pattern", Files: 99999, PersistedLines: 999999999,
		PersistedBytes: 1023 << 20, BacklogBytes: 1023 << 20, Segment: "20261120T100000.000Z-999999.log.zst", SegmentBytes: 1023 << 20})
	st.Streams = append(st.Streams, admin.Stream{Name: "idle"})
	return st
}

const fullText = `state:        ready
jvm end:      24.2s ago, pid 7: the kernel killed it
jvm crashes:  2 (ullage logs --stream 'hs_err*' prints their reports)
other logs:   pid 1: /data/gc.log (outside the source: the JVM waits for that disk)
errors:       none
lag:          400ms, last commit 1.2s ago
backlog:      1.20 MiB (1.00 MiB of it in the spool, before compression)
budget:       6.00 MiB of 64.0 MiB (9 %) in use; the tmpfs has 60.0 MiB free
dropped:      500 lines, 58.6 KiB; dropping lines below --keep-level now
dropped:      discard: info=400,debug=90
dropped:      drop: warning=10
jvm lost:     7 lines by -Xlog:async, 1 cut by a full tmpfs
read:         1234567 lines, 5.00 GiB
persisted:    1234000 lines, 5.00 GiB
by level:     error=10,info=1233990
copy:         back to 2026-11-20T10:00:00Z, 80 segments, 10.0 GiB free
copy:         retention deleted 12 segments
copy:         recovery cut a damaged end of 4.00 KiB
sink s3:      12 segments, 48.0 MiB acknowledged; lag 1.5s, 1.00 MiB left
sink near:    1000 lines, 1.00 MiB acknowledged; lag 0s, 0 B left
sink near:    300 B rejected (2 lines), 3 segments deleted unsent
sink near:    at least once
sink near:    fails: no connection
log level:    gc*=debug on gc-*.log until 10:15:00, raised: annotation ullage.dev/log
app level:    debug until 10:20:00
JVM:          pid 1 has gc*=debug on 1 of its outputs
trigger:      pause>500ms,io-stall, not armed: a raise is in effect; met 1200 times while not armed
trigger:      io-stall can never be met
annotation:   ullage.dev/log-for "soon\x1b": write it like 15m
error:        pid 77: timeout
events:       1200 became lines, 30 refused by full rings
ring:         events-7-1763722140123.ring: 12.0 KiB of 2.00 MiB (1 %)
ring:         events-8-1763722140123.ring: 0 B of 2.00 MiB (0 %), abandoned, its JVM has ended
ring:         the ring has 0 bytes
ignored:      1 fifo, 2 symlink
formats:      pattern=1,ul=1 streams
queue:        4.00 KiB of 4.00 MiB (0 %)
reclaim:      punch (auto: the tmpfs can punch holes)
source:       /var/log/jvm
destination:  /var/lib/ullage
compress:     zstd
version:      v0.1.0, up 3h12m4s

STREAM                FILES  PERSISTED  LINES      BACKLOG   SEGMENT                      SIZE
gc.log                2      5.00 GiB   1234000    1.20 MiB  20261120T100000.000Z-000001  48.0 MiB
a-very-lo…-?[2J7.log  99999  1023 MiB   999999999  1023 MiB  20261120T100000.000Z-999999  1023 MiB
idle                  0      0 B        0          0 B       -                            -
and 7 more
`

func TestStatusRendersWithin100Columns(t *testing.T) {
	var b bytes.Buffer
	if err := renderStatus(&b, full()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(fullText, b.String()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	for l := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(l, "\n")); n > 100 {
			t.Errorf("%d columns, want at most 100: %s", n, l)
		}
	}
}

func TestStatusRendersTheWorst(t *testing.T) {
	var b bytes.Buffer
	st := admin.Status{Reason: "the destination\nfails", DestinationErrors: admin.Errors{Count: 3, Last: "write: no space left on device"}}
	if err := renderStatus(&b, st); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"NOT READY: the destination fails\n", "dropped:      none\n", "3 at the destination, last: write: no space left", "no commit yet", "no files in the source now"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// A process that accepts a connection and does not answer is a stopped sidecar or another program.
func TestStatusSaysForHowLongItHasWaited(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	code, stdout, stderr := status("--addr", l.Addr().String(), "--timeout", "50ms")
	want := "ullage status: " + l.Addr().String() + " accepted the request but did not answer within 50ms: "
	if code != cli.Failure || stdout != "" || !strings.HasPrefix(stderr, want) || strings.Contains(stderr, "http") {
		t.Errorf("exit %d, %q, want %q", code, stderr, want)
	}
}

func TestErrorsHaveAnAgeAndEnd(t *testing.T) {
	started := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for want, e := range map[string]admin.Errors{
		"none":                           {},
		"none lately, 3 since the start": {Count: 3},
		"3 at the destination, last 1m40s ago: full": {Count: 3, Last: "full", LastAt: started.Add(500 * time.Second)},
		"3 at the destination, last: full":           {Count: 3, Last: "full"}, // from a sidecar of an earlier version
	} {
		if got := destErrors(admin.Status{Started: started, UptimeSeconds: 600, DestinationErrors: e}); got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
}

// status runs the subcommand and returns its code and outputs.
func status(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	e := cli.Env{Program: "ullage", Stdout: &out, Stderr: &errs, LookupEnv: func(string) (string, bool) { return "", false }}
	code = dispatch(context.Background(), append([]string{"status"}, args...), e)
	return code, out.String(), errs.String()
}

func TestStatusAsksARealServer(t *testing.T) {
	defer goleak.VerifyNone(t)
	s, err := admin.New(admin.Config{Listen: "127.0.0.1:0"}, prometheus.NewRegistry(), admin.Answers{Status: func() any { return full() }}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	code, out, errs := status("--addr", s.Addr().String())
	if code != cli.OK || out != fullText || errs != "" {
		t.Errorf("exit %d, stdout:\n%s\nstderr:\n%s\nwant exit %d, nothing on stderr, and stdout:\n%s", code, out, errs, cli.OK, fullText)
	}
	if code, out, errs = status("--addr", s.Addr().String(), "--source", "/var/log/jvm/"); code != cli.OK || out != fullText {
		t.Errorf("its own source: exit %d, stdout:\n%s\nstderr:\n%s\nwant exit %d and stdout:\n%s", code, out, errs, cli.OK, fullText)
	}
	// Another sidecar listens on the port.
	if code, out, errs = status("--addr", s.Addr().String(), "--source", "/dev/shm/jvm"); code != cli.Failure || out != "" ||
		!strings.Contains(errs, " is the sidecar of /var/log/jvm, not of /dev/shm/jvm: ") {
		t.Errorf("exit %d, stdout:\n%s\nstderr:\n%s\nwant exit %d, nothing on stdout, and on stderr that it is the sidecar of another source", code, out, errs, cli.Failure)
	}
	code, out, _ = status("--json", "--addr="+s.Addr().String())
	var st admin.Status
	if err := json.Unmarshal([]byte(out), &st); err != nil || code != cli.OK {
		t.Fatalf("the exit status is %d, error %v; want %d and no error", code, err, cli.OK)
	}
	if d := cmp.Diff(full(), st); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestStatusJSONIsNotObeyedByATerminal(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "{\"source\": \"a\u202eb\u009b31m\"}") }))
	defer s.Close()
	if code, out, errs := status("--json", "--addr", strings.TrimPrefix(s.URL, "http://")); code != cli.OK || out != `{"source": "a\u202eb\u009b31m"}`+"\n" {
		t.Errorf("exit %d, stdout %q, stderr %q; want exit %d and on stdout the JSON with its two hostile characters escaped", code, out, errs, cli.OK)
	}
}

func TestStatusDistrustsWhatListensThere(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"no such path": {http.NotFound, "404 Not Found: is it ullage that listens there?"},
		"no JSON":      {func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>")) }, "decode the answer"},
		"endless":      {func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 2<<20)) }, "longer than"},
		"too slow":     {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "did not answer within"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(c.answer)
			defer s.Close()
			code, out, errs := status("--timeout=500ms", "--addr", strings.TrimPrefix(s.URL, "http://"))
			if code != cli.Failure || out != "" || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
				t.Errorf("exit %d, stdout %q, stderr %q; want %q", code, out, errs, c.want)
			}
		})
	}
}
