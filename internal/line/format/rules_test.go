package format

import (
	"strings"
	"testing"
)

func TestRules(t *testing.T) {
	var r Rules
	for _, text := range []string{"a=b.log=json", "app*.log=pattern  *.out=plain", "*=auto"} {
		if err := r.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := r.String(), "a=b.log=json app*.log=pattern *.out=plain *=auto"; got != want {
		t.Errorf("the rules are %q, want %q", got, want)
	}
	for stream, want := range map[string]Format{"a=b.log": JSON, "app.log": Pattern, "app.out": Plain, "gc.log": Auto} {
		if got := r.Classifier(stream).only; got != want {
			t.Errorf("%s is %s, want %s", stream, got, want)
		}
	}
}

func TestRulesThatAreNone(t *testing.T) {
	const noGlob = "does not begin with a pattern"
	for text, want := range map[string]string{
		"pattern":                           noGlob,
		"=pattern":                          noGlob,
		"[=pattern":                         noGlob,
		"a/b=pattern":                       noGlob,
		"app.log=":                          `"" is not a format`,
		"app.log=log4j":                     `"log4j" is not a format`,
		strings.Repeat("a=ul ", maxRules+1): "at most 64 are allowed",
	} {
		var r Rules
		if err := r.Set(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
	if (*Rules)(nil).String() != "" {
		t.Error("the text of nil Rules is not empty")
	}
}
