package segment_test

import (
	"testing"

	"github.com/ullage/ullage/internal/segment"
)

func TestPositionThatCannotBeIsRefused(t *testing.T) {
	name := "20261120T100000.000Z-000002.log"
	for what, p := range map[string]segment.Position{
		"not a segment":          {Place: segment.Place{Segment: "../../etc/passwd"}},
		"negative offset":        {Place: segment.Place{Segment: name, Offset: -1}},
		"negative raw bytes":     {Place: segment.Place{Segment: name, Raw: -1}},
		"check before the start": {Place: segment.Place{Segment: name, Check: []byte("x")}},
		"head too long":          {Place: segment.Place{Segment: name, Head: make([]byte, segment.HeadBytes+1)}},
		"repeat out of range":    {Place: segment.Place{Segment: name}, Cut: segment.Repeat{Raw: 1 << 62}},
		"before is behind":       {Place: segment.Place{Segment: name}, Before: segment.Place{Segment: "20261120T100000.000Z-000003.log"}},
	} {
		if _, err := segment.OpenFollower(t.TempDir(), segment.FollowOptions{From: p}); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
}

func TestRepeatedBytesAreStrippedOnlyIfTheyRepeat(t *testing.T) {
	past := func(text string) segment.Repeat {
		return segment.Repeat{Raw: int64(len(text)), Head: []byte(text[:min(len(text), 3)])}
	}
	for name, c := range map[string]struct {
		cut, deleted segment.Repeat
		raw          []string
		want         string
	}{
		"cut back":                   {past("abcdef"), segment.Repeat{}, []string{"ab", "cd", "ef", "gh"}, "gh"},
		"into a new segment":         {segment.Repeat{}, past("abcdef"), []string{"abcde", "fgh"}, "gh"},
		"both":                       {past("abcdef"), past("ghi"), []string{"abcdefghijk"}, "jk"},
		"retention":                  {segment.Repeat{}, past("abcdef"), []string{"xyz", "abcdef"}, "xyzabcdef"},
		"retention, and a short one": {segment.Repeat{}, past("abcdef"), []string{"a", "xyz", "abcdef"}, "xyzabcdef"},
		"another file of that name":  {past("abcdef"), segment.Repeat{}, []string{"xyz"}, "xyz"},
		"cut, then retention":        {past("abc"), past("def"), []string{"abcx", "def"}, "xdef"},
	} {
		if got := segment.Strip(c.cut, c.deleted, c.raw...); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
