package attach

import (
	"fmt"
	"testing"
)

func TestGuardSwitchesOffWhatWouldKillTheJVM(t *testing.T) {
	for _, c := range []struct{ own, raise, want string }{
		{"all=off,gc=info", "gc*=debug", "gc*=debug"},
		{"all=off,gc=info", "all=info", "all=info,perf+class+link=off"},
		{"all=off,gc=info", "all=trace,gc=info", "all=trace,gc=info,perf+class+link=off"},
		{"all=off,gc=info", "all=warning", "all=warning"},
		{"all=off,gc=info", "perf*=debug", "perf*=debug,perf+class+link=off"},
		{"all=off,gc=info", "class*=info", "class*=info,perf+class+link=off"},
		{"all=off,gc=info", "link+class*=info", "link+class*=info,perf+class+link=off"},
		{"all=off,gc=info", "class+perf+link=info", "class+perf+link=info,perf+class+link=off"},
		{"all=off,gc=info", "class+load=info", "class+load=info"},
		{"all=off,gc=info", "class+load*=info", "class+load*=info"},
		{"all=off,gc=info", "all=info,perf*=warning", "all=info,perf*=warning"},
		{"all=info", "all=debug", "all=debug"}, // perf+class+link was on at the start, so the JVM has its counter
		{"all=off,gc=info", "", ""},
	} {
		if got := Guard(Output{Selection: c.own}, parsed(t, c.raise)); got.String() != c.want {
			t.Errorf("%s added to %s is guarded as %s, want %s", c.raise, c.own, got, c.want)
		}
	}
}

func TestOnlyAJVMWithoutTheTagSetIsAskedUnguarded(t *testing.T) {
	for text, want := range map[string]bool{
		"Invalid tag 'link' in log selection. Did you mean 'inlining'?":                                       true,
		"No tag set matches selection: perf+class+link. Did you mean any of the following":                    true,
		"Invalid tag 'oops2' in log selection.":                                                               false,
		"No tag set matches selection: gc+class.":                                                             false,
		"No tag set matches selection: perf+class+link+init. Did you mean any of ":                            false, // an item of the raise itself
		"No tag set matches selection: perf+class+link+init.\nNo tag set matches selection: perf+class+link.": true,
		"No tag set matches selection: perf+class+link":                                                       true,
		"": false,
	} {
		if got := Unguarded(fmt.Errorf("raise: %w", &Error{Kind: Refused, Text: text})); got != want {
			t.Errorf("for %q, Unguarded is %v, want %v", text, got, want)
		}
	}
	if Unguarded(&Error{Kind: NoJVM, Text: "Invalid tag 'link'"}) {
		t.Error("Unguarded is true although no JVM has answered, want false")
	}
}
