package ask

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// kubectl describe shows the first 138 bytes of each line of an annotation. The status text must fit into that.
func TestKubectlDescribeShowsEachWarning(t *testing.T) {
	long := strings.Repeat("ä", 200)
	for name, s := range map[string]Status{
		"warnings":  {Warnings: []string{strings.Repeat("raise the limit, or ", 20) + "opt out", "short"}},
		"a refusal": {Refused: BadAnnotation, Errors: []string{strings.Repeat("did you mean another? ", 12)}},
		"a word":    {Warnings: []string{"write " + long, long}},
	} {
		text := s.Text()
		for line := range strings.SplitSeq(text, "\n") {
			if len(line) > 138 || !utf8.ValidString(line) {
				t.Errorf("%s: a line has %d bytes: %q; want at most 138 bytes of UTF-8", name, len(line), line)
			}
		}
		said := strings.Join(append(s.Errors, s.Warnings...), "")
		if s.Refused != "" {
			said = "not injected:" + said
		}
		blanks := strings.NewReplacer(" ", "", "\n", "")
		if got, want := blanks.Replace(text), blanks.Replace(said); got != want {
			t.Errorf("%s: the text is %s\nwant %s", name, got, want)
		}
	}
	for line := range strings.SplitSeq(Status{Warnings: []string{strings.Repeat("\x80", 500)}}.Text(), "\n") { // not UTF-8
		if len(line) > 138 {
			t.Errorf("a line has %d bytes, want at most 138: %q", len(line), line)
		}
	}
	if text := (Status{Image: "ullage", Dest: "pvc:logs"}).Text(); text != "" {
		t.Errorf("the text of an empty status is %q, want nothing", text)
	}
}
