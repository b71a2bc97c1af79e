package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// fleet has many logs that differ a little, and one log with more time in stops.
func fleet(n int) *Fleet {
	f := &Fleet{}
	for i := range n {
		throughput := 0.99 - 0.0001*float64(i%7)
		if i == n/2 {
			throughput = 0.95
		}
		f.Add("", &Report{Name: fmt.Sprintf("pod-%03d</td>", i), Complete: i > 0, Totals: Totals{Span: 3600, Throughput: &throughput, Suspected: 2}})
	}
	f.Miss("gone", errors.New("it does not exist"))
	f.Compare()
	return f
}

func TestOutliersComeFirst(t *testing.T) {
	f := fleet(200)
	if first := f.Logs[0]; first.Name != "pod-100</td>" || first.Outlier != "time stopped" || f.Logs[1].Outlier != "" || f.Logs[1].Name != "pod-000</td>" {
		t.Errorf(`%+v, then %+v, want Name "pod-100</td>", Outlier "time stopped", Outlier "" and Name "pod-000</td>"`, first, f.Logs[1])
	}
	if stopped := f.Figures[0]; fmt.Sprintf("%.4f %.4f %.4f", *stopped.Low, *stopped.Median, *stopped.High) != "0.0100 0.0103 0.0500" {
		t.Errorf(`the figure of the time stopped is %+v, want "0.0100 0.0103 0.0500"`, stopped)
	}
	if p99 := f.Figures[2]; p99.Median != nil {
		t.Errorf("%+v, want no spread of a figure that no log shows", p99)
	}
}

func TestFewLogsHaveNoOutliers(t *testing.T) {
	if f := fleet(4); f.Logs[0].Outlier != "" || f.Logs[0].Name != "pod-000</td>" {
		t.Errorf(`the logs are %+v, want Outlier "" and Name "pod-000</td>"`, f.Logs)
	}
}

func TestAComparisonInEachForm(t *testing.T) {
	f := fleet(200)
	var text, object, page bytes.Buffer
	if err := errors.Join(f.Text(&text, Style{}), f.JSON(&object), f.HTML(&page)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Comparison of 200 logs\n", "\npod-100</td>", "time stopped\n", "pod-000</td> (not complete)", "not compared: gone: it does not exist\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%.2000s", want, text.String())
		}
	}
	var back Fleet
	if err := json.Unmarshal(object.Bytes(), &back); err != nil || len(back.Logs) != 200 || len(back.Logs[0].Values) != len(back.Figures) {
		t.Errorf("%d logs are read back, error %v; want 200, the first with a value for each of %d figures, and no error", len(back.Logs), err, len(back.Figures))
	}
	if n := page.Len(); n > 3<<20 || strings.Contains(page.String(), "pod-100</td></") || !strings.Contains(page.String(), "pod-100&lt;/td&gt;") {
		t.Errorf("a page of %d bytes; want at most 3 MiB, with names as text", n)
	}
}
