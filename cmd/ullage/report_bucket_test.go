package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/test/lab/fakebucket"
)

// A pod is compared by the marks of its sidecars if the marks cover its whole log, and otherwise by the log itself.
// Here, the longest stop is 1 s according to the marks and 2 s according to the log.
func TestPodsInABucketAreComparedByTheirMarks(t *testing.T) {
	begin := time.Now().UTC().Add(-3 * time.Hour).Truncate(time.Minute)
	minute := func(n int) time.Time { return begin.Add(time.Duration(n) * time.Minute) }
	key := func(pod, container, stream string, at time.Time) string {
		return fmt.Sprintf("prod/log/namespace=shop/pod=%s/container=%s/stream=%s/date=%s/%s-000001.log", pod, container, stream, at.Format("2006-01-02"), at.Format("20060102T150405.000Z"))
	}
	log := func(last int) string {
		var text []byte
		for n := range last {
			text = fmt.Appendf(text, "[%s][%d.000s][info][gc] GC(%d) Pause Young (Normal) (G1 Evacuation Pause) 20M->10M(64M) 2000.000ms\n", minute(n).Format(ul.TimeLayout), 60*n+1, n)
		}
		return string(text)
	}
	marks := func(minutes ...int) string {
		var text []byte
		for _, n := range minutes {
			f := pause.Figures{Since: minute(n), Until: minute(n + 10), Span: 10 * time.Minute, Stopped: time.Second, Longest: time.Second}
			f.Stops.Add(time.Second)
			m := mark.New(mark.JVMFigures, append([]string{"stream", "gc.log"}, f.Fields()...)...)
			m.Time = f.Until
			text = m.Append(text)
		}
		return string(text)
	}
	for name, c := range map[string]struct {
		args []string
		also map[string]string // further objects in the bucket
		of   string            // content of the stream of marks
		want float64
	}{
		"by marks":                     {nil, nil, marks(0, 10, 20, 30), 1},
		"a window of an hour":          {[]string{"--since", minute(-30).Format(time.RFC3339)}, nil, marks(0, 10, 20, 30), 1},
		"a hole in the marks":          {nil, nil, marks(0, 20, 30), 2},
		"marks of another container":   {nil, map[string]string{key("web-0", "sidekick", "gc.log", minute(0)): log(40)}, marks(0, 10, 20, 30), 2},
		"no figures":                   {nil, nil, "not a mark\n", 2},
		"a short window":               {[]string{"--since", minute(0).Format(time.RFC3339), "--until", minute(50).Format(time.RFC3339)}, nil, marks(0, 10, 20, 30), 2},
		"another floor than sidecars'": {[]string{"--stall-floor", "1s"}, nil, marks(0, 10, 20, 30), 2},
	} {
		t.Run(name, func(t *testing.T) {
			objects := map[string]string{key("web-0", "app", "gc.log", minute(0)): log(40)}
			for k, v := range c.also {
				objects[k] = v
			}
			objects[key("web-0", "app", mark.Stream, minute(0))] = c.of
			var out, told bytes.Buffer
			args := append(append([]string{"--compare", "--json"}, c.args...), fakebucket.New(t, objects))
			code := reportCmd(t.Context(), args, cli.Env{Stdout: &out, Stderr: &told, LookupEnv: func(string) (string, bool) { return "", false }})
			var is struct {
				Logs   []struct{ Values []*float64 }
				Marked int
			}
			if err := json.Unmarshal(out.Bytes(), &is); err != nil || code != cli.OK || len(is.Logs) != 1 || is.Logs[0].Values[3] == nil {
				t.Fatalf("exit %d, %v, %s\n%s; want one log with its longest stop", code, err, out.String(), told.String())
			}
			if got := *is.Logs[0].Values[3]; got != c.want || (is.Marked == 1) != (c.want == 1) {
				t.Errorf("the longest stop is %v s, and %d were compared by marks; want %v s", got, is.Marked, c.want)
			}
		})
	}
}
