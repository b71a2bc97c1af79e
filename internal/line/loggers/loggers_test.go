package loggers

import (
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/line/ul"
)

func TestParse(t *testing.T) {
	long := strings.Repeat("a", MaxText-len("=debug"))
	for text, c := range map[string]struct{ want, bad string }{
		"debug":                                {want: "debug"},
		"WARN":                                 {want: "warning"},
		"com.acme=debug":                       {want: "com.acme=debug"},
		" com.Acme = debug":                    {bad: `because it contains ' '`},
		"com.acme=DEBUG, org.h.SQL=Warn":       {want: "com.acme=debug,org.h.SQL=warning"},
		"info,com.acme=trace":                  {want: "info,com.acme=trace"},
		"a.b.C$D_e-1=error":                    {want: "a.b.C$D_e-1=error"},
		"org.C.[Tomcat].[localhost].[/]=debug": {want: "org.C.[Tomcat].[localhost].[/]=debug"},
		long + "=debug":                        {want: long + "=debug"},
		long + "=warn":                         {bad: "has 514 bytes"},
		long + "a=debug":                       {bad: "at most 512"},
		strings.Repeat("info,", 16) + "info":   {bad: "17 rules, at most 16"},
		"":                                     {bad: "a rule is empty"},
		"debug,":                               {bad: "a rule is empty"},
		"=debug":                               {bad: "names no logger"},
		"com.acme=off":                         {bad: `"off" is not a level`},
		"com.acme=":                            {bad: `"" is not a level`},
		"com.acme":                             {bad: `"com.acme" is not a level`},
		"com.acme=unknown":                     {bad: "is not a level"},
		"com.acme=debug=trace":                 {bad: `because it contains '='`},
		"com.acme.*=debug":                     {bad: `because it contains '*'`},
		"com.acme.=debug":                      {bad: "is not the name of a logger"},
		".com=debug":                           {bad: "is not the name of a logger"},
		"com..acme=debug":                      {bad: "is not the name of a logger"},
		"a\nb=debug":                           {bad: "is not the name of a logger"},
		"größe=debug":                          {bad: "is not the name of a logger"},
		"debug,info":                           {bad: "two levels for all loggers"},
		"a=debug,b=info,a=debug":               {bad: `the logger "a" twice`},
	} {
		got, err := Parse(text)
		switch {
		case c.bad == "" && (err != nil || got.String() != c.want):
			t.Errorf("%q is %q, %v, want %q", text, got, err, c.want)
		case c.bad != "" && (err == nil || !strings.Contains(err.Error(), c.bad) || !got.IsZero()):
			t.Errorf("%q is %q, %v, want an error with %q", text, got, err, c.bad)
		}
	}
}

func TestLowest(t *testing.T) {
	for text, want := range map[string]struct {
		all, any ul.Level
		named    bool
	}{
		"":                    {ul.Unknown, ul.Unknown, false},
		"debug":               {ul.Debug, ul.Debug, false},
		"a=debug,b=trace":     {ul.Unknown, ul.Trace, true},
		"debug,a=info":        {ul.Debug, ul.Debug, true},
		"a=trace,warn,b=info": {ul.Warning, ul.Trace, true},
	} {
		var l Levels
		if err := l.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if all, any, named := l.Lowest(); all != want.all || any != want.any || named != want.named {
			t.Errorf("%q: got %v, %v, %v, want %v", text, all, any, named, want)
		}
	}
	if got := Of(ul.Unknown); !got.IsZero() {
		t.Errorf("Of(ul.Unknown) is %q, want the zero value", got)
	}
	if got := Of(ul.Debug).String(); got != "debug" {
		t.Errorf(`Of(ul.Debug) is %q, want "debug"`, got)
	}
}

// FuzzParse checks that accepted levels are in canonical form and that a JVM can read them.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "debug", "WARN", "com.acme=debug, org.h.SQL=trace", "info,a=trace", "a..b=debug", "=debug", "a=b=c", "a=off", "\xff=info", strings.Repeat("a=info,", 20)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Parse(text)
		if err != nil {
			if !got.IsZero() {
				t.Errorf("got the levels %q with the error %v, want no levels with an error", got, err)
			}
			return
		}
		if again, err := Parse(got.String()); err != nil || again != got || len(got.String()) > MaxText {
			t.Errorf("%q is read as %q, and that as %q, error %v; want the same again, no error and at most %d bytes", text, got, again, err, MaxText)
		}
		if strings.ContainsFunc(got.String(), func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
			t.Errorf("%q is %q, want only printable ASCII without spaces", text, got)
		}
		if _, any, _ := got.Lowest(); any == ul.Unknown || strings.Count(got.String(), ",") >= maxRules {
			t.Errorf("%q is accepted with the lowest level %v, want a known level and at most maxRules rules", got, any)
		}
	})
}
