package segment_test

import (
	"testing"

	"github.com/ullage/ullage/internal/segment"
)

func TestAPlaceThatCannotBeIsRefused(t *testing.T) {
	name := "20261120T100000.000Z-000002.log"
	for what, from := range map[string]segment.Place{
		"not a segment":      {Segment: "../../etc/passwd"},
		"negative offset":    {Segment: name, Offset: -1},
		"negative raw bytes": {Segment: name, Raw: -1},
		"too many raw bytes": {Segment: name, Raw: 1 << 62},
	} {
		if _, err := segment.OpenFollower(t.TempDir(), segment.FollowOptions{From: from}); err == nil {
			t.Errorf("%s: accepted, want an error", what)
		}
	}
}

func TestRepeatedBytesAreStrippedOnlyIfTheyRepeat(t *testing.T) {
	for name, c := range map[string]struct {
		cut, deleted string
		raw          []string
		want         string
	}{
		"cut back":                   {"abcdef", "", []string{"ab", "cd", "ef", "gh"}, "gh"},
		"into a new segment":         {"", "abcdef", []string{"abcde", "fgh"}, "gh"},
		"both":                       {"abcdef", "ghi", []string{"abcdefghijk"}, "jk"},
		"retention":                  {"", "abcdef", []string{"xyz", "abcdef"}, "xyzabcdef"},
		"retention, and a short one": {"", "abcdef", []string{"a", "xyz", "abcdef"}, "xyzabcdef"},
		"another file of that name":  {"abcdef", "", []string{"xyz"}, "xyz"},
		"cut, then retention":        {"abc", "def", []string{"abcx", "def"}, "xdef"},
	} {
		if got := segment.Strip(c.cut, c.deleted, c.raw...); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
