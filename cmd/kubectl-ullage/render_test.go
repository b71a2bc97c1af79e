package main

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ullage/ullage/internal/base/admin"
)

func TestTheWorstComesFirst(t *testing.T) {
	of := func(name string, headroom int64, lag float64) answer {
		return answer{of: sidecar{pod: name}, status: admin.Status{Space: admin.Space{HeadroomBytes: 1 << 30, BudgetBytes: 1000, BudgetUsedBytes: 1000 - headroom}, Progress: admin.Progress{LagSeconds: lag}}}
	}
	answers := []answer{of("idle", 1000, 0), of("lags", 980, 300), of("full", 20, 1), of("fuller", 10, 1), of("half", 500, 0), of("larger", 9999, 1),
		{of: sidecar{pod: "gone"}, err: errNoPod}, {of: sidecar{pod: "bare"}, err: errNoSidecar}}
	slices.SortStableFunc(answers, worse)
	var got []string
	for _, a := range answers {
		got = append(got, a.of.pod)
	}
	if want := "gone bare fuller full half lags larger idle"; strings.Join(got, " ") != want {
		t.Errorf("the order is %s, want %s", got, want)
	}
}

func TestALevelIsOneWord(t *testing.T) {
	of := func(l *admin.Levels) admin.Status { return admin.Status{Started: noon, UptimeSeconds: 90, Levels: l} }
	taken := []admin.JVM{{PID: 1, Applied: "x"}}
	for want, st := range map[string]admin.Status{
		"off":                                of(nil),
		"own":                                of(&admin.Levels{}),
		"gc*=debug(pending)":                 of(&admin.Levels{Raise: raised("annotation", "gc*=debug", time.Minute), JVMs: []admin.JVM{{PID: 1}}}),
		"gc*=debug(8m30s)":                   of(&admin.Levels{Raise: raised("annotation", "gc*=debug", 10*time.Minute), JVMs: taken}),
		"gc*=debug(0s)":                      of(&admin.Levels{Raise: raised("annotation", "gc*=debug", time.Second), JVMs: taken}),
		"a?b?c(8m30s)":                       of(&admin.Levels{Raise: raised("annotation", "a b\x1bc", 10*time.Minute), JVMs: taken}),
		strings.Repeat("a", 39) + "…(8m30s)": of(&admin.Levels{Raise: raised("annotation", strings.Repeat("a", 99), 10*time.Minute), JVMs: taken}),
	} {
		if got := level(st); got != want {
			t.Errorf("the level is %s, want %s", got, want)
		}
	}
}

// FuzzStatus lets a sidecar answer anything. Each table must show the answer as one row, without control characters.
func FuzzStatus(f *testing.F) {
	f.Add([]byte(`{"ready":true,"budgetBytes":-1,"headroomBytes":9,"lagSeconds":1e300,"levels":{"raise":{"selection":"a\tb\u009b"},"jvms":[{"applied":"x"}]}}`))
	f.Add([]byte(`{"reason":"a\nb","levels":{"jvms":[{"pid":1,"error":"x\u001b"}],"errors":["x\u001b"],"annotations":[{"key":"ullage.dev/log","value":"…"}]}}`))
	f.Add([]byte("{\"version\":\"\x9b\x7f\"}"))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, text []byte) {
		st, err := parseStatus(text)
		a := answer{of: sidecar{pod: "web-0"}, raw: text, status: st, err: err}
		both := []answer{a, {of: sidecar{pod: "web-1"}}}
		slices.SortFunc(both, worse)
		for _, out := range []string{statusTable(both, true), topTable(both, false)} {
			checkText(t, out)
			if n := strings.Count(out, "\n"); n != 3 {
				t.Errorf("%d lines, want 3\n%s", n, out)
			}
		}
		checkText(t, levelsText([]answer{a}))
		out, err := answersJSON([]answer{a}, statusOf)
		if err != nil {
			t.Fatal(err)
		}
		checkText(t, out)
		if st.Levels != nil {
			ours.judge(nil, st.Levels)
			judgeReset(st.Levels, st.Levels)
		}
	})
}

func checkText(t *testing.T, out string) {
	t.Helper()
	if i := strings.IndexFunc(out, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }); i >= 0 || !utf8.ValidString(out) {
		t.Errorf("control character or bad UTF-8 at %d in %q", i, out)
	}
}

// FuzzPods lets kubectl print anything.
func FuzzPods(f *testing.F) {
	f.Add([]byte(`{"kind":"Pod","metadata":{"name":"a\nb"},"spec":{"initContainers":[{"name":"ullage","args":["run","--listen"]}]}}`))
	f.Add([]byte(`{"items":[{"spec":{"containers":[{"name":"ullage-2","image":"ullage","env":[{"name":"ULLAGE_LISTEN","value":":1"}]}]},"status":{"phase":"x"}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		pods, err := parsePods(text)
		if err != nil {
			return
		}
		for _, p := range pods {
			for _, s := range (cluster{}).sidecars(p) {
				if args := s.exec(s.statusArgs()...); !strings.HasPrefix(args[1], "pod/") || !sidecarName.MatchString(s.container.Name) {
					t.Errorf("the arguments for container %q are %q, want pod/… as the second argument and a container with a sidecar's name", s.container.Name, args)
				}
				checkText(t, statusTable([]answer{{of: s}}, true))
				s.setting("dest")
			}
		}
	})
}
