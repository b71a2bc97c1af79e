package view

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFlagsOfTwoReportsAreCompared(t *testing.T) {
	report := func(flags ...string) *Report {
		r := &Report{}
		for _, f := range flags {
			r.Runs = append(r.Runs, Run{JVM: JVM{Flags: f}})
		}
		return r
	}
	var many []string
	for i := range 25 {
		many = append(many, "-XX:F"+string(rune('a'+i))+"=1")
	}
	for name, test := range map[string]struct {
		a, b *Report
		want [][]string
	}{
		"different": {report("-Xmx1g -XX:+UseG1GC -XX:MaxGCPauseMillis=50 -Xshare:off"), report("-Xmx2g -XX:-UseG1GC -Xshare:off -XX:+UseZGC"), [][]string{
			{"-XX:MaxGCPauseMillis", "50", "–", "removed"}, {"-XX:UseG1GC", "on", "off", "changed"}, {"-XX:UseZGC", "–", "on", "added"}, {"-Xmx", "1g", "2g", "changed"}}},
		"the last one wins":      {report("-Xmx1g -Xmx2g"), report("-Xmx2g"), nil},
		"of several runs":        {report("-Xmx1g", "", "-Xmx1g -Xss1m"), report("-Xmx1g", "-Xmx2g"), [][]string{{"-Xmx", "1g", "several", "changed"}, {"-Xss", "several", "–", "removed"}}},
		"no flags in one report": {report("-Xmx1g"), report(""), nil},
		"cut":                    {report("-Xmx1g -Xs…"), report("-Xmx2g -Xss1m -Xmn3m"), [][]string{{"-Xmx", "1g", "2g", "changed"}}},
		"long":                   {report("-XX:" + strings.Repeat("x", 900) + "=1"), report("-Xmx1g"), [][]string{{"-XX:" + strings.Repeat("x", 33) + "…", "1", "–", "removed"}, {"-Xmx", "–", "1g", "added"}}},
	} {
		if diff := cmp.Diff(test.want, compareFlags(test.a, test.b)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	rows := compareFlags(report(strings.Join(many, " ")), report("-Xss1m"))
	if last := rows[len(rows)-1]; len(rows) != maxCompared+1 || last[0] != "6 further flags" {
		t.Errorf("%d rows, last %q; want %d, and the last for 6 further flags", len(rows), last, maxCompared+1)
	}
	if text := Compare(report("-Xmx1g"), report("-Xmx2g")); text[len(text)-1][0] != "-Xmx" {
		t.Errorf(`the rows are %q, want "-Xmx"`, text)
	}
}
