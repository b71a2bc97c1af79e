package attach

import (
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/jvm/ask"
)

func FuzzParseSelection(f *testing.F) {
	for _, text := range []string{"gc", " GC*=Debug , safepoint", "all=trace,gc+heap+ref+age+cds*", "all*", "gc=off", "output=x", "gc,\n", "\u212a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ask.ParseSelection(text)
		if err != nil {
			if !s.IsZero() {
				t.Fatalf("the selection is %q and the error %v, want no selection with an error", s, err)
			}
			return
		}
		got := s.String()
		if len(got) == 0 || len(got) > 512 || strings.Trim(got, "abcdefghijklmnopqrstuvwxyz0123456789_+*=,") != "" || strings.Contains(got, "=off") {
			t.Fatalf("%q is parsed as %q, want 1 to 512 bytes of lower-case names and levels without =off", text, got)
		}
		if again, err := ask.ParseSelection(got); err != nil || again != s {
			t.Fatalf("%q is parsed as %q, error %v; want the same and no error", got, again, err)
		}
		// Each item must have the form of an item that a JVM lists after the level of all tag sets.
		if err := checkListed("all=off,x=info," + strings.ReplaceAll(got, "all=", "y=")); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzParseList(f *testing.F) {
	for _, r := range replies { // one input for each line: small inputs are fuzzed faster
		for _, line := range strings.Split(reply(f, r.name), "\n") {
			if _, output, ok := strings.Cut(line, ": "); ok && strings.HasPrefix(line, " #") {
				f.Add(listOf(" #0: " + output))
			}
		}
	}
	f.Add(listOf(" #0: stdout all=off none", " #1: file=a all=off none", " #1: file=b all=off,gc=info none a=b (reconfigured)"))
	raise := parsed(f, "gc*=trace")
	f.Fuzz(func(t *testing.T, text string) {
		outputs, err := ParseList(text)
		if (err == nil) == (len(outputs) == 0) || len(outputs) > maxOutputs {
			t.Fatalf("got %d outputs, error %v; want either 1 to %d outputs or an error", len(outputs), err, maxOutputs)
		}
		for i, o := range outputs {
			if o.Err == nil && (o.Index != i || !strings.Contains(text, o.Name)) {
				t.Fatalf("output %d is %+v, want this index and a name that is in the list", i, o)
			}
			for _, s := range []ask.Selection{{}, raise} {
				c, err := Configure(o, s)
				if err != nil {
					continue
				}
				if o.Err != nil {
					t.Fatalf("the command is %s for %+v, want an error, because the output has one", c, o)
				}
				what := strings.TrimSuffix(o.Selection+","+s.String(), ",")
				checkArguments(t, c, o.Name, what, o.Decorators)
			}
		}
	})
}

// FuzzConfigure passes an output that was not parsed. Each text of the output must reach the JVM as exactly one
// argument, unchanged.
func FuzzConfigure(f *testing.F) {
	f.Add("file=o'dd.log", "all=off,gc=info", "none", "")
	f.Add(`file=x\`, "all=info", "uptime,level,tags", "foldmultilines=false")
	f.Add(`file=x" rotate`, "all=info disable", "none\nGC.run", "a=b")
	f.Fuzz(func(t *testing.T, name, what, decorators, options string) {
		c, err := Configure(Output{Name: name, Selection: what, Decorators: decorators, Options: options}, ask.Selection{})
		if err == nil {
			checkArguments(t, c, name, what, decorators)
		}
	})
}

// checkArguments parses c as HotSpot does and compares the result.
func checkArguments(t *testing.T, c Command, output, what, decorators string) {
	t.Helper()
	line := c.String()
	rest, ok := strings.CutPrefix(line, "VM.log ")
	if !ok || len(line) > MaxCommand || strings.ContainsAny(line, "\n\r\x00") {
		t.Fatalf("the command is %q, want VM.log and its arguments in one line of at most %d bytes", line, MaxCommand)
	}
	got := arguments(t, rest)
	if len(got) != 3 || got["output"] != output || got["what"] != what || got["decorators"] != decorators {
		t.Fatalf("command %q has the arguments %q, want only output %q, what %q and decorators %q", line, got, output, what, decorators)
	}
}

// arguments splits key=value pairs as HotSpot's DCmdArgIter does: a space ends a value. A quote
// anywhere in the value begins a quoted part, which the next such quote ends unless a backslash
// precedes it.
func arguments(t *testing.T, line string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for line != "" {
		key, rest, ok := strings.Cut(line, "=")
		if !ok || strings.ContainsAny(key, ` '"`) || found[key] != "" {
			t.Fatalf("the rest %q does not begin with an argument", line)
		}
		end := strings.IndexAny(rest, ` '"`)
		switch {
		case end < 0:
			found[key], line = rest, ""
		case rest[end] == ' ':
			found[key], line = rest[:end], rest[end+1:]
		default:
			quote, from := rest[end], end+1
			for end++; end < len(rest) && (rest[end] != quote || rest[end-1] == '\\'); end++ {
			}
			if from != 1 || end == len(rest) || end+1 < len(rest) && rest[end+1] != ' ' {
				t.Fatalf("the quotes do not match in %q", rest)
			}
			found[key], line = rest[from:end], strings.TrimPrefix(rest[end+1:], " ")
		}
	}
	return found
}
