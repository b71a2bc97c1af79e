package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// quoting returns the documents that `make evidence` renews, according to the Makefile.
func quoting(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "-quote ")
	if !found {
		t.Fatal("the Makefile has no option -quote, want one with the documents")
	}
	return strings.Split(strings.Fields(rest)[0], ",")
}

// This fails if a quoted table was edited by hand, or if only the record was renewed.
func TestDocumentsHaveTheFiguresOfTheRecord(t *testing.T) {
	r, err := load("../../docs/benchmarks/record.json")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, name := range quoting(t) {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		renewed, err := r.renew(string(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if renewed != string(text) {
			t.Errorf("%s does not have the figures of docs/benchmarks/record.json: run make plots", name)
		}
		for quote := range quotes {
			used[quote] = used[quote] || strings.Contains(string(text), quoteBegin+quote+" -->")
		}
	}
	for quote := range quotes {
		if !used[quote] {
			t.Errorf("no document has %s%s -->", quoteBegin, quote)
		}
	}
}

func TestQuotesAreRenewedBetweenTheirMarks(t *testing.T) {
	x := &experiment{Name: "stopped"}
	x.add("JDK 17, linkedin: logging off", figures{"longest": 63})
	x.add("JDK 17, linkedin: "+shippedLogging, figures{"longest": 57, "durable": 100, "dropped": 0})
	x.add("JDK 25, linkedin: logging off", figures{"longest": 65})
	x.add("JDK 25, linkedin: log on the disk, async:stall", figures{"longest": 3213, "durable": 100, "dropped": 0})
	x.add("JDK 25, linkedin: "+shippedLogging, figures{"longest": 69, "durable": 100, "dropped": 0})
	r := &record{Experiments: []*experiment{x}}
	got, err := r.renew("a\n<!-- evidence: standstill -->\nold\n<!-- end of evidence -->\nb\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a\n<!-- evidence: standstill -->\n| `-Xlog` writes to |", ", JDK 17 / 25 |", "| nothing (logging off) | 63 ms / 65 ms | – | – |\n",
		"| disk, `-Xlog:async:stall` (JDK 25) | – / 3.2 s | – / 100 % | – / 0 |\n", "| **tmpfs + ullage** | **57 ms / 69 ms** | **100 %** | **0** |\n<!-- end of evidence -->\nb\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "old") {
		t.Errorf("want no \"old\" in:\n%s", got)
	}
	for _, bad := range []string{"<!-- evidence: nothing -->\n<!-- end of evidence -->", "<!-- evidence: costs -->\n"} {
		if _, err := r.renew(bad); err == nil {
			t.Errorf("%q was renewed, want an error", bad)
		}
	}
}

func TestARunInPartsIsOneRunIfOfOneDay(t *testing.T) {
	parts := func(dates ...string) string {
		all := []*experiment{{}}
		for _, date := range dates {
			all = append(all, &experiment{Earlier: &sitting{Date: date}})
		}
		return earlierParts(all, "2026-11-28")
	}
	for _, c := range []struct {
		name      string
		got, want string
	}{
		{"all in the last run", parts(), ""},
		{"two parts of one day", parts("2026-11-28T10:53:27Z", "2026-11-28T11:40:00Z"), ""},
		{"another day's", parts("2026-11-28T10:53:27Z", "2026-11-24T14:03:03Z", "2026-11-26T09:00:00Z"), " 2 of 4 experiments are from earlier runs, the first of 2026-11-24."},
	} {
		if c.got != c.want {
			t.Errorf("%s: the document says %q, want %q", c.name, c.got, c.want)
		}
	}
}
