package segment

import "testing"

func TestPositionThatCannotBeIsRefused(t *testing.T) {
	name := "20261120T100000.000Z-000002.log"
	for what, p := range map[string]Position{
		"not a segment":          {Place: Place{Segment: "../../etc/passwd"}},
		"negative offset":        {Place: Place{Segment: name, Offset: -1}},
		"negative raw bytes":     {Place: Place{Segment: name, Raw: -1}},
		"check before the start": {Place: Place{Segment: name, Check: []byte("x")}},
		"head too long":          {Place: Place{Segment: name, Head: make([]byte, HeadBytes+1)}},
		"repeat out of range":    {Place: Place{Segment: name}, Cut: Repeat{Raw: 1 << 62}},
		"before is behind":       {Place: Place{Segment: name}, Before: Place{Segment: "20261120T100000.000Z-000003.log"}},
	} {
		if _, err := OpenFollower(t.TempDir(), FollowOptions{From: p}); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
}

func TestRepeatedBytesAreStrippedOnlyIfTheyRepeat(t *testing.T) {
	past := func(text string) Repeat {
		return Repeat{Raw: int64(len(text)), Head: []byte(text[:min(len(text), 3)])}
	}
	for name, c := range map[string]struct {
		cut, deleted Repeat
		raw          []string
		want         string
	}{
		"cut back":                   {past("abcdef"), Repeat{}, []string{"ab", "cd", "ef", "gh"}, "gh"},
		"into a new segment":         {Repeat{}, past("abcdef"), []string{"abcde", "fgh"}, "gh"},
		"both":                       {past("abcdef"), past("ghi"), []string{"abcdefghijk"}, "jk"},
		"retention":                  {Repeat{}, past("abcdef"), []string{"xyz", "abcdef"}, "xyzabcdef"},
		"retention, and a short one": {Repeat{}, past("abcdef"), []string{"a", "xyz", "abcdef"}, "xyzabcdef"},
		"another file of that name":  {past("abcdef"), Repeat{}, []string{"xyz"}, "xyz"},
		"cut, then retention":        {past("abc"), past("def"), []string{"abcx", "def"}, "xdef"},
	} {
		if got := Strip(c.cut, c.deleted, c.raw...); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
