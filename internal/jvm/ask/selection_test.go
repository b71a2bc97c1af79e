package ask

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"gc", "gc=info"},
		{"gc*", "gc*=info"},
		{"all", "all=info"},
		{"all=trace", "all=trace"},
		{"gc*=debug,safepoint=info", "gc*=debug,safepoint=info"},
		{" GC* , Safepoint=WARNING ", "gc*=info,safepoint=warning"},
		{"gc=WARN", "gc=warning"},
		{"gc+heap+ref+age+cds*=error", "gc+heap+ref+age+cds*=error"},
		{"gc=debug,gc=info", "gc=debug,gc=info"},
		{"all=debug,gc*=trace", "all=debug,gc*=trace"},
		{"a_1", "a_1=info"},
		{"info,off=info", "info=info,off=info"}, // these words may be tags
		{strings.Repeat("a", 32), strings.Repeat("a", 32) + "=info"},
		{strings.Repeat("gc,", 15) + "gc", strings.Repeat("gc=info,", 15) + "gc=info"},
		{strings.Repeat(" ", 500) + "gc", "gc=info"},
	} {
		got, err := ParseSelection(c.text)
		if err != nil || got.String() != c.want || got.IsZero() {
			t.Errorf("%q is %q, %v; want %q", c.text, got, err, c.want)
		}
		if again, err := ParseSelection(c.want); err != nil || again != got {
			t.Errorf("%q is %q, %v; want the same", c.want, again, err)
		}
	}
	if !(Selection{}).IsZero() || (Selection{}).String() != "" {
		t.Error("the zero Selection is not zero or has a text, want IsZero true and no text")
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "it is empty: write it like gc*=debug"},
		{"spaces", "  ", "it is empty"},
		{"empty item", "gc,,safepoint", "an item is empty"},
		{"comma at the end", "gc, ", "an item is empty"},
		{"newline", "gc\nGC.run", "control character"},
		{"tab", "gc,\tsafepoint", "control character"},
		{"NUL", "gc\x00", "control character"},
		{"DEL", "gc\x7f", "control character"},
		{"double quote", `gc"`, "has a quote: write it without"},
		{"single quote", "'gc'", "has a quote"},
		{"letter whose lower case is ASCII", "\u212a", "not ASCII"},
		{"bad UTF-8", "\xff", "not ASCII"},
		{"space inside an item", "gc = debug", `"gc " is not a tag`},
		{"level off", "gc*=debug,safepoint=off", `item "safepoint=off": level off is not allowed, because a JVM closes and deletes`},
		{"off alone", "off", `item "off": level off is not allowed, because a JVM closes and deletes`},
		{"off among others", "gc*=debug, Off", `item "off": level off is not allowed`},
		{"everything off", "ALL=OFF", "use warning or error to log less"},
		{"unknown level", "gc=loud", `item "gc=loud": "loud" is not a level (use trace, debug, info, warning or error)`},
		{"no level", "gc=", `"" is not a level`},
		{"two levels", "gc=info=debug", `"info=debug" is not a level`},
		{"no tag", "=info", `"" is not a tag: write one to five tags, like gc, gc* or gc+heap*`},
		{"empty tag", "gc+", `"" is not a tag`},
		{"wildcard alone", "*", `"" is not a tag`},
		{"wildcard inside", "gc*+heap", `"gc*" is not a tag`},
		{"two wildcards", "gc**", `"gc*" is not a tag`},
		{"digit first", "1gc", `"1gc" is not a tag`},
		{"long tag", strings.Repeat("a", 33), "is not a tag"},
		{"a sixth tag", "a+b+c+d+e+f", `item "a+b+c+d+e+f": it has more than 5 tags`},
		{"a seventh tag", "a+b+c+d+e+f+g", "it has more than 5 tags"},
		{"the same tag twice", "gc+heap+gc", "it has the tag gc twice"},
		{"all with a wildcard", "all*", `"all" cannot be combined with tags`},
		{"all with a tag", "all+gc=info", `"all" cannot be combined with tags`},
		{"all as the second tag", "gc+all", `"all" cannot be combined with tags`},
		{"output", "gc,output=/tmp/x", `item "output=/tmp/x": output is an argument of VM.log, but only a selection is allowed`},
		{"what", "what=gc*=debug", "what is an argument of VM.log"},
		{"disable", "disable", "disable is an argument of VM.log"},
		{"decorators", "gc* decorators=none", `"gc* decorators" is not a tag`},
		{"the whole of -Xlog", "gc*:file=/tmp/x", `"gc*:file" is not a tag`},
		{"too many items", strings.Repeat("gc,", 16) + "gc", "it has 17 items, at most 16 are allowed: use wildcards"},
		{"too long", strings.Repeat(" ", 511) + "gc", "it has 513 bytes, at most 512 are allowed"},
		{"too long with its levels", strings.Repeat(strings.Repeat("a", 31)+",", 15) + strings.Repeat("a", 32), "it has 592 bytes"},
	} {
		got, err := ParseSelection(c.text)
		if err == nil || !got.IsZero() || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v; want an error with %q", c.name, got, err, c.want)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\x00") {
			t.Errorf("%s: the error is not one line: %q", c.name, err)
		}
	}
}
