package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/outputs"
	"github.com/ullage/ullage/internal/line/loggers"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/ring"
)

// hostileList is a JVM with a log file whose name reorders what a terminal shows, changes colors and ends the line.
func hostileList() []outputs.Listed {
	o := attach.Output{Index: 2, Name: "file=/logs/\u202egol.cg\u2066\x1b[31m\u009b31m\n\U000e0001", Selection: "gc=info", Decorators: "uptime"}
	jvm := attach.Description{Main: "\u202eniaM", Version: "\x1b[31m", Collector: "G1\n", Uptime: 1500 * time.Millisecond}
	return []outputs.Listed{{PID: 7, JVM: jvm, Outputs: []outputs.ListedOutput{{Output: o, Shipped: true, Problem: "\u202ename"}}}}
}

func TestListedNamesAreShownAndNotObeyed(t *testing.T) {
	for name, print := range map[string]func(*strings.Builder) error{
		"table": func(b *strings.Builder) error { return printList(b, hostileList()) },
		"JSON":  func(b *strings.Builder) error { return printListJSON(b, hostileList(), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			if err := print(&b); err != nil {
				t.Fatal(err)
			}
			for _, r := range b.String() {
				if r != '\n' && !unicode.IsGraphic(r) {
					t.Errorf("the output has the character %U, want only graphic ones: %q", r, b.String())
				}
			}
		})
	}
}

func TestListedJSONMeansTheNamesOfTheOutputs(t *testing.T) {
	var b strings.Builder
	if err := printListJSON(&b, hostileList(), nil); err != nil {
		t.Fatal(err)
	}
	var got []listedJSON
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	want := []listedJSON{{PID: 7, Main: "\u202eniaM", Version: "\x1b[31m", Collector: "G1\n", UptimeSeconds: 1.5, Index: 2, Output: hostileList()[0].Outputs[0].Name, Selection: "gc=info", Decorators: "uptime", Shipped: true, Error: "\u202ename"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAListNamesItsJVMs(t *testing.T) {
	listed := []outputs.Listed{
		{PID: 7, JVM: attach.Description{Main: "shop.Main", Version: "17.0.15+6", Collector: "ZGC", Uptime: 90 * time.Second},
			Outputs: []outputs.ListedOutput{{Output: attach.Output{Name: "stdout", Selection: "all=warning", Decorators: "uptime"}},
				{Output: attach.Output{Name: "file=/l/app.log", Selection: "gc=info", Decorators: "none"}, Shipped: true, ByName: true}}},
		{PID: 8, Stale: true},
		{PID: 9, Outputs: []outputs.ListedOutput{{Output: attach.Output{Name: "stdout", Selection: "all=warning", Decorators: "uptime"}}}},
	}
	var b strings.Builder
	if err := printList(&b, listed); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"PID JVM VERSION COLLECTOR UP",
		"7 shop.Main 17.0.15+6 ZGC 1m30s",
		"8 none: no process listens on the socket (stale) - - -",
		"9 - - - -",
		"",
		"PID OUTPUT SELECTION DECORATORS OPTIONS SHIPPED",
		"7 stdout all=warning uptime - no",
		"7 file=/l/app.log gc=info none - yes, raised only by --stream: no level in its lines",
		"9 stdout all=warning uptime - no",
		"",
	}
	var got []string
	for line := range strings.SplitSeq(b.String(), "\n") {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAListShowsRings(t *testing.T) {
	rings := []ring.Surveyed{{Name: "events-7-1763722140123.ring", PID: 7, Capacity: 2 << 20, Used: 4096, Refused: 12345, Raised: loggers.Of(ul.Debug)},
		{Name: "events-8-1763722140123.ring", PID: 8, Capacity: 1 << 20}, {Name: "events-9-1763722140123.ring", Problem: "read header: \x1b"}}
	var b strings.Builder
	if err := printRings(&b, rings, false); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"PID RING SIZE USED REFUSED RAISED TO",
		"7 events-7-1763722140123.ring 2.00 MiB 4.00 KiB 12345 debug",
		"8 events-8-1763722140123.ring 1.00 MiB 0 B 0 -",
		"- events-9-1763722140123.ring read header: ?",
	}
	var got []string
	for line := range strings.Lines(b.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.Reset()
	if err := printListJSON(&b, nil, rings); err != nil {
		t.Fatal(err)
	}
	var decoded []listedJSON
	if err := json.Unmarshal([]byte(b.String()), &decoded); err != nil || len(decoded) != 3 || *decoded[0].Ring != (ringJSON{rings[0].Name, 2 << 20, 4096, 12345, "debug", ""}) {
		t.Errorf("the list is %s, error %v; want no error and 3 elements, the first with ring %s: 2 MiB, 4096 used, 12345 refused, debug", b.String(), err, rings[0].Name)
	}
}
