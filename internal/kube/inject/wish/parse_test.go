package wish

import (
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/jvm/ask"
)

// TestXlogIsWhatHotSpotTakes lists accepted selections and the selections that the
// JVM gets.
func TestXlogIsWhatHotSpotTakes(t *testing.T) {
	for _, c := range []struct{ text, want, warning string }{
		{"gc", "gc=info", ""},
		{"gc*=debug,safepoint", "gc*=debug,safepoint=info", ""},
		{" GC+Heap*=Trace , all=warning", "gc+heap*=trace,all=warning", ""},
		{"gc*,gc+phases=off", "gc*=info,gc+phases=off", ""},
		{"all=off,gc=info", "all=off,gc=info", ""},
		{"gc,startup=debug", "gc=info,startup=debug", "JDK 11 has no"},
		{"gc,native=debug", "gc=info,native=debug", "JDK 17 has no"},
		{"gc,workgang=debug", "gc=info,workgang=debug", "JDK 25 has no"},
	} {
		got, warnings, err := parseXlog(c.text)
		if err != nil || got != c.want || !strings.Contains(strings.Join(warnings, ""), c.warning) || (c.warning == "") != (len(warnings) == 0) {
			t.Errorf("%q: %q, %q, %v; want %q, %q", c.text, got, warnings, err, c.want, c.warning)
		}
	}
}

func TestDestinationsRoundTrip(t *testing.T) {
	for _, text := range []string{"emptyDir", "volume:data", "volume:data/a/b", "pvc:logs", "pvc:a.b-c", "ephemeral:10Gi", "ephemeral:1536Mi:fast.class"} {
		d, err := parseDestination(text)
		if err != nil || d.String() != text {
			t.Errorf("%q is read back as %q, error %v; want the same and no error", text, d, err)
		}
	}
}

// FuzzXlog checks that a JVM gets only a selection.
func FuzzXlog(f *testing.F) {
	for _, text := range []string{defaultXlog, "all=off,gc=off,gc=trace", "gc+heap*=debug:file=x", "a b", "gc=info=off"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, _, err := parseXlog(text)
		if err != nil {
			return
		}
		if strings.ContainsAny(got, " \t\n:\"'\\$") || got == "" {
			t.Fatalf("%q became %q, want some text without spaces, colons, quotes, backslashes and dollars", text, got)
		}
		if _, err := ask.ParseSelection(strings.ReplaceAll(got, "=off", "=info")); err != nil {
			t.Fatalf("%q became %q, want a selection: %v", text, got, err)
		}
		if again, _, err := parseXlog(got); err != nil || again != got {
			t.Fatalf("%q became %q, then %q, error %v; want no further change and no error", text, got, again, err)
		}
	})
}

// The sidecar reads the annotation adopt itself. When the annotation is removed, the default takes effect.
func TestTheAnnotationAdoptDoesNotBecomeAFlag(t *testing.T) {
	const key = ask.Prefix + ask.Adopt
	for _, c := range []struct{ annotation, byDefault, want string }{
		{"gc*=debug", "", ""}, {"off", "gc*=info", "gc*=info"}, {"", "gc*=info", "gc*=info"}, {"", "", ""},
	} {
		cfg := Config{Defaults: map[string]string{ask.Adopt: c.byDefault}}
		w := Read(map[string]string{key: c.annotation}, "shop", cfg)
		if w.Set[ask.Adopt] != c.want || len(w.Problems) > 0 {
			t.Errorf("%+v: the flag is %q, problems %q; want %q and no problem", c, w.Set[ask.Adopt], w.Problems, c.want)
		}
	}
	if w := Read(map[string]string{key: "gc*=loud"}, "shop", Config{}); len(w.Problems) == 0 {
		t.Error("a bad selection: got no problem, want one")
	}
	unreached := map[string]string{ask.Prefix + Attach: "off"}
	if w := Read(unreached, "shop", Config{Defaults: map[string]string{ask.Adopt: "gc*=info"}}); len(w.Problems) > 0 || !w.Sidecar.Levels.Adopt.IsZero() {
		t.Errorf("a default for a pod whose JVM can't be reached: %q, problems %q; want no selection and no problem", w.Sidecar.Levels.Adopt, w.Problems)
	}
	if unreached[key] = "gc*=info"; len(Read(unreached, "shop", Config{}).Problems) == 0 {
		t.Error("an annotation without effect: got no problem, want one")
	}
}
