package chart

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// foreignMetrics are metrics of other programs, with the place of their documentation.
var foreignMetrics = map[string]string{
	"apiserver_admission_webhook_fail_open_count": "https://kubernetes.io/docs/reference/instrumentation/metrics/",
	"process_cpu_seconds_total":                   "the library's collector, which every sidecar registers",
	"process_resident_memory_bytes":               "as above",
}

var (
	metricRow  = regexp.MustCompile("(?m)^\\| `(ullage_\\w+)` \\|")
	metricName = regexp.MustCompile(`\b(ullage|process|apiserver)_\w+`)
)

// sidecarMetrics returns the metrics in the table that cmd/ullage generates from the registry.
func sidecarMetrics(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range metricRow.FindAllSubmatch(text, -1) {
		names[string(m[1])] = true
	}
	if len(names) < 50 {
		t.Fatalf("docs/reference.md has %d metrics, want at least 50", len(names))
	}
	return names
}

// TestDashboardAndAlertsNameMetricsThatExist looks for every metric that a query names.
func TestDashboardAndAlertsNameMetricsThatExist(t *testing.T) {
	queries := readDashboard(t).queries()
	for _, a := range ruleObject(t, "rules: {enabled: true}").alerts() {
		queries[a.Alert] = a.Expr
	}
	for _, v := range readDashboard(t).Templating.List {
		if q, ok := v.Query.(map[string]any); ok {
			queries["$"+v.Name] = q["query"].(string)
		}
	}
	known := sidecarMetrics(t)
	maps.Copy(known, injectorMetrics(t))
	for _, title := range slices.Sorted(maps.Keys(queries)) {
		names := metricName.FindAllString(queries[title], -1)
		if len(names) == 0 {
			t.Errorf("%s queries no metric: %s", title, queries[title])
		}
		for _, name := range names {
			if foreignMetrics[name] == "" && !known[name] && !known[ofHistogram(name)] {
				t.Errorf("%s queries %s, which does not exist", title, name)
			}
		}
	}
}

// ofHistogram returns the histogram to which a series belongs.
func ofHistogram(series string) string {
	for _, suffix := range []string{"_bucket", "_count", "_sum"} {
		if name, ok := strings.CutSuffix(series, suffix); ok {
			return name
		}
	}
	return ""
}

// injectorMetrics are the metrics that the injector's packages register.
func injectorMetrics(t *testing.T) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`"(ullage_injector_\w+)"`)
	names := map[string]bool{}
	for _, file := range []string{"internal/kube/webhook/metrics.go", "internal/kube/certs/metrics.go", "internal/kube/kubeapi/recorder.go", "cmd/ullage-injector/serve.go"} {
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		found := declared.FindAllSubmatch(text, -1)
		if len(found) == 0 {
			t.Errorf("%s declares no metric", file)
		}
		for _, m := range found {
			names[string(m[1])] = true
		}
	}
	return names
}
