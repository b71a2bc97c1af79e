package tail

import "testing"

func TestTextsOfEventsAreFollowedAndRingsNever(t *testing.T) {
	narrow, wide := DefaultConfig(), DefaultConfig()
	narrow.Match, wide.Match = "gc*.log", "*"
	for name, want := range map[string]struct {
		stream       string
		narrow, wide bool
	}{
		"events-7-1763722140123.log":        {"events-7.log", true, true},
		"events-7-1763722140123-2.log":      {"events-7.log", true, true},
		"events-4194304-1763722140123.log":  {"events-4194304.log", true, true},
		"events-2026-11.log":                {"events-2026-11.log", false, true}, // somebody's own
		"events-7-1763722140123.log.1":      {"events-7-1763722140123.log", false, true},
		"events-7-1763722140123-2-3.log":    {"events-7-1763722140123-2-3.log", false, true},
		"events--1763722140123.log":         {"events--1763722140123.log", false, true},
		"events-7-1763722140123.ring":       {"events-7-1763722140123.ring", false, false},
		"recorder-7-1763722140123.ring":     {"recorder-7-1763722140123.ring", false, false},
		"events-7-17637221x0123.log":        {"events-7-17637221x0123.log", false, true},
		"my-events-7-1763722140123.log":     {"my-events-7-1763722140123.log", false, true},
		"events-7-1763722140123.log.backup": {"events-7-1763722140123.log.backup", false, true},
	} {
		if got := StreamName(name); got != want.stream {
			t.Errorf("%s is of stream %s, want %s", name, got, want.stream)
		}
		if got := narrow.follows(name); got != want.narrow {
			t.Errorf("%s is followed: %v with %s", name, got, narrow.Match)
		}
		if got := wide.follows(name); got != want.wide {
			t.Errorf("%s is followed: %v with %s", name, got, wide.Match)
		}
	}
}
