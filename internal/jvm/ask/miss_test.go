package ask

import (
	"strings"
	"testing"
)

func TestWhoAsksWithoutEffectIsNamed(t *testing.T) {
	with := func(value string) map[string]string { return map[string]string{InjectLabel: value} }
	for _, c := range []struct {
		name                        string
		labels, annotations, object map[string]string
		want                        string // several are separated by |
	}{
		{"nobody asks", nil, nil, nil, ""},
		{"the pod asks", with("true"), nil, nil, ""},
		{"the pod asks, and the object has the label too", with("true"), with("true"), with("true"), ""},
		{"the pod opts out", with("false"), nil, with("true"), ""},
		{"another value", with("True"), nil, nil, `is "True", which has no effect`},
		{"an annotation", nil, with("true"), nil, "is an annotation of the pod"},
		{"an annotation that opts out", nil, with("false"), nil, ""},
		{"a label of the object", nil, nil, with("true"), "is on deployment/web, not on the template"},
		{"an object that opts out", nil, nil, with("false"), ""},
		{"both", nil, with("true"), with("enabled"), "is an annotation of the pod|is on deployment/web"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Misses(c.labels, c.annotations, c.object, "deployment/web")
			var want []string
			if c.want != "" {
				want = strings.Split(c.want, "|")
			}
			if len(got) != len(want) {
				t.Fatalf("got %q, want %q", got, want)
			}
			for i := range want {
				if !strings.Contains(got[i].Text, want[i]) || got[i].Hint == "" {
					t.Errorf("got %q, want %q", got[i], want[i])
				}
			}
		})
	}
}
