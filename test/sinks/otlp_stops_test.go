package sinks

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// A slow request of a real JVM shows the stops in it: a Collector has each stop as an event whose time is within the
// request. The event has the resource of the pod's traces, the length of the stop, and the action and cause of the
// JVM's own notification. The safepoints together are no longer than the request and no shorter than the pauses.
func TestASlowRequestShowsItsStops(t *testing.T) {
	jdks := lab.NeedsJDKs(t)
	classes := jdks[0].Classes(t, filepath.Join("testdata", "Request.java"))
	for _, jdk := range jdks {
		for _, collector := range []string{"Serial", "Parallel", "G1", "Z"} {
			t.Run(jdk.String()+"/"+collector, func(t *testing.T) {
				t.Parallel()
				c := newCollector(t)
				r := newLineRig(t, c, c.sink("")+"&service=checkout")
				r.start()
				log := filepath.Join(r.source, stream)
				out, err := exec.Command(jdk.Java(), "-XX:+Use"+collector+"GC", "-Xmx256m", "-cp", classes,
					"-Xlog:gc*,safepoint:file="+log+":utctime,uptime,level,tags:filecount=0", "Request").Output()
				if err != nil {
					t.Fatal(err)
				}
				began, ended, notified := requestOf(t, string(out))
				if err := r.side.Stop(5 * patience); err != nil {
					t.Error(err)
				}
				r.holdsStops(began, ended, notified)
			})
		}
	}
}

// requestOf parses what the program has printed. notified is the number of the JVM's notifications for each action and
// cause.
func requestOf(t *testing.T, out string) (began, ended time.Time, notified map[string]int) {
	t.Helper()
	notified = map[string]int{}
	at := func(nanos string) time.Time {
		n, err := strconv.ParseInt(nanos, 10, 64)
		if err != nil {
			t.Fatalf("%v in %q", err, out)
		}
		return time.Unix(0, n)
	}
	for line := range strings.Lines(out) {
		switch f := strings.Split(strings.TrimSpace(line), "|"); {
		case len(f) == 3 && f[0] == "request":
			began, ended = at(f[1]), at(f[2])
		case len(f) == 4 && f[0] == "notified":
			n, err := strconv.Atoi(f[3])
			if err != nil {
				t.Fatalf("%v in %q", err, out)
			}
			notified[f[1]+"|"+f[2]] = n
		}
	}
	if began.IsZero() || len(notified) == 0 {
		t.Fatalf("the program printed %q, want a request and a notification", out)
	}
	return began, ended, notified
}

// holdsStops compares the events at the Collector with the request and with the notifications.
func (r *lineRig) holdsStops(began, ended time.Time, notified map[string]int) {
	r.Helper()
	collected, _, err := lab.ReadCollected(filepath.Join(r.collector.out, "logs.jsonl"))
	r.must(err)
	var safepoints, pauses float64
	events := map[string]int{} // by action and cause
	for _, e := range collected {
		if e.Event == "" {
			continue
		}
		for key, want := range map[string]string{"service.name": "checkout", "k8s.namespace.name": "shop", "k8s.pod.name": "web-0"} {
			if e.Resource[key] != want {
				r.Errorf("the resource of %s has %s=%q, want %q", e.Body, key, e.Resource[key], want)
			}
		}
		seconds, err := strconv.ParseFloat(e.Attributes["ullage.stop.seconds"], 64)
		if err != nil || seconds <= 0 {
			r.Errorf("%s: the length is %q, want a number above 0", e.Body, e.Attributes["ullage.stop.seconds"])
		}
		begins := e.Time.Add(-time.Duration(seconds * float64(time.Second)))
		within := !e.Time.Before(began.Truncate(time.Millisecond)) && !e.Time.After(ended) // UL has milliseconds, rounded down
		if within && begins.Before(began.Add(-2*time.Millisecond)) {
			r.Errorf("%s: it begins at %s, %s before the request, want a begin within the request", e.Body, begins, began.Sub(begins))
		}
		switch e.Event {
		case "ullage.safepoint":
			if within {
				safepoints += seconds
			}
		case "ullage.gc_pause":
			events[e.Attributes["jvm.gc.action"]+"|"+e.Attributes["jvm.gc.cause"]]++
			if within {
				pauses += seconds
			}
			if strings.Contains(e.Body, "(System.gc())") && !within {
				r.Errorf("%s: its time %s is not within the request, from %s to %s", e.Body, e.Time, began, ended)
			}
		default:
			r.Errorf("got an event %q, want only safepoints and pauses", e.Event)
		}
	}
	took := ended.Sub(began).Seconds()
	r.Logf("the request took %.1f ms, with safepoints of %.1f ms and pauses of the collector of %.1f ms; events %v, notifications %v", took*1e3, safepoints*1e3, pauses*1e3, events, notified)
	if pauses <= 0 || safepoints < pauses || safepoints > took {
		r.Errorf("got safepoints of %.6f s with pauses of %.6f s in a request of %.6f s, want 0 < pauses <= safepoints <= request", safepoints, pauses, took)
	}
	r.agrees(events, notified)
}

// agrees compares the pauses with the notifications. A notification about a cycle is not about a pause, and for ZGC the
// line of a pause has no cause. JDK 17 sends no notifications about the pauses of a concurrent cycle of G1.
func (r *lineRig) agrees(events, notified map[string]int) {
	r.Helper()
	byAction := func(all map[string]int) map[string]int {
		sum := map[string]int{}
		for key, n := range all {
			action, _, _ := strings.Cut(key, "|")
			sum[action] += n
		}
		return sum
	}
	for key, n := range notified {
		action, cause, _ := strings.Cut(key, "|")
		switch {
		case strings.HasSuffix(action, "cycle"):
		case strings.HasSuffix(action, "GC pause"):
			if got := byAction(events)[action]; got != byAction(notified)[action] {
				r.Errorf("%d events with the action %q, want %d, as many as the JVM's notifications", got, action, byAction(notified)[action])
			}
		case events[key] != n:
			r.Errorf("%d events with the action %q and the cause %q, want %d, as many as the JVM's notifications", events[key], action, cause, n)
		}
	}
	for action := range byAction(events) {
		if byAction(notified)[action] == 0 && action != "end of concurrent GC pause" {
			r.Errorf("got events with the action %q, want none, because the JVM sent no such notification", action)
		}
	}
}
