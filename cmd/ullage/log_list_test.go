package main

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage/ullage/internal/attach"
	"github.com/ullage/ullage/internal/levels"
)

// hostileList is a JVM whose log file has a name that reorders what a terminal
// shows, colors it and ends its line.
func hostileList() []levels.Listed {
	o := attach.Output{Index: 2, Name: "file=/logs/\u202egol.cg\u2066\x1b[31m\u009b31m\n\U000e0001", Selection: "gc=info", Decorators: "uptime"}
	return []levels.Listed{{PID: 7, Outputs: []levels.ListedOutput{{Output: o, Shipped: true, Problem: "\u202ename"}}}}
}

func TestListedNamesAreShownAndNotObeyed(t *testing.T) {
	for name, print := range map[string]func(*strings.Builder) error{
		"table": func(b *strings.Builder) error { return printList(b, hostileList()) },
		"JSON":  func(b *strings.Builder) error { return printListJSON(b, hostileList()) },
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			if err := print(&b); err != nil {
				t.Fatal(err)
			}
			for _, r := range b.String() {
				if r != '\n' && !unicode.IsGraphic(r) {
					t.Errorf("%U in %q", r, b.String())
				}
			}
		})
	}
}

func TestListedJSONMeansTheNamesOfTheOutputs(t *testing.T) {
	var b strings.Builder
	if err := printListJSON(&b, hostileList()); err != nil {
		t.Fatal(err)
	}
	var got []listedJSON
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	want := []listedJSON{{PID: 7, Index: 2, Output: hostileList()[0].Outputs[0].Name, Selection: "gc=info", Decorators: "uptime", Shipped: true, Error: "\u202ename"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
