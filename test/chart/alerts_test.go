package chart

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/ullage/ullage/test/lab"
)

// prometheusRule has those parts of PrometheusRule (pkg/apis/monitoring/v1 of prometheus-operator) that the chart
// uses. Its Spec is a file of rules for Prometheus.
type prometheusRule struct {
	metav1.TypeMeta
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     ruleFile          `json:"spec"`
}

type ruleFile struct {
	Groups []ruleGroup `json:"groups"`
}

type ruleGroup struct {
	Name  string  `json:"name"`
	Rules []alert `json:"rules"`
}

type alert struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ruleObject renders the PrometheusRule with the given values.
func ruleObject(t *testing.T, values string) *prometheusRule {
	t.Helper()
	text, err := template(t, values)
	if err != nil {
		t.Fatal(err)
	}
	return sole[prometheusRule](t, decode(t, text))
}

func (r *prometheusRule) alerts() []alert {
	var all []alert
	for _, g := range r.Spec.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

// promtool runs promtool in the directory of a file of rules and returns its output.
func promtool(t *testing.T, args ...string) string {
	t.Helper()
	programs, err := prometheusPrograms()
	if err != nil {
		lab.Needs(t, "prometheus and promtool: "+err.Error())
	}
	out, err := lab.Command(time.Minute, filepath.Join(programs, "promtool"), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func writeRules(t *testing.T, path string, rules ruleFile) {
	t.Helper()
	text, err := yaml.Marshal(rules)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// promtool also expands the templates in annotations.
func TestPromtoolTakesTheRules(t *testing.T) {
	for name, rule := range map[string]*prometheusRule{
		"default":  ruleObject(t, "rules: {enabled: true}"),
		"monitors": sole[prometheusRule](t, decode(t, rendering{"monitors", "ullage", "ullage-system"}.render(t))),
	} {
		path := filepath.Join(t.TempDir(), name+".yaml")
		writeRules(t, path, rule.Spec)
		t.Log(promtool(t, "check", "rules", "--lint-fatal", path))
	}
}

// TestAlertsFireAndKeepSilent runs the series of testdata/alerts.yaml. The test leaves out annotations, since promtool
// would compare them word for word.
func TestAlertsFireAndKeepSilent(t *testing.T) {
	rules := ruleObject(t, "rules: {enabled: true}").Spec
	for _, g := range rules.Groups {
		for i := range g.Rules {
			g.Rules[i].Annotations = nil
		}
	}
	dir := t.TempDir()
	writeRules(t, filepath.Join(dir, "rules.yaml"), rules)
	series, err := os.ReadFile("testdata/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tests := filepath.Join(dir, "alerts.yaml")
	if err := os.WriteFile(tests, series, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Log(promtool(t, "test", "rules", tests))
}

func TestEveryAlertIsSeenToFireAndToKeepSilent(t *testing.T) {
	text, err := os.ReadFile("testdata/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Tests []struct {
			Rules []struct {
				Name string `json:"alertname"`
				Want []any  `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		} `json:"tests"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, r := range test.Rules {
			fires[r.Name] = fires[r.Name] || len(r.Want) > 0
			silent[r.Name] = silent[r.Name] || len(r.Want) == 0
		}
	}
	for _, a := range ruleObject(t, "rules: {enabled: true}").alerts() {
		if !fires[a.Alert] || !silent[a.Alert] {
			t.Errorf("testdata/alerts.yaml shows %s firing: %t, silent: %t; want both", a.Alert, fires[a.Alert], silent[a.Alert])
		}
		delete(fires, a.Alert)
	}
	if len(fires) > 0 {
		t.Errorf("testdata/alerts.yaml has alerts that the chart lacks: %q", slices.Sorted(maps.Keys(fires)))
	}
}

const runbook = "https://github.com/ullage/ullage/blob/main/docs/runbook.md"

var runbookSection = regexp.MustCompile(`(?m)^## (Ullage\w+)\n`)

func TestEveryAlertHasItsSectionInTheRunbook(t *testing.T) {
	text, err := os.ReadFile("../../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	var sections, alerts []string
	for _, m := range runbookSection.FindAllSubmatch(text, -1) {
		sections = append(sections, string(m[1]))
	}
	for _, a := range ruleObject(t, "rules: {enabled: true}").alerts() {
		alerts = append(alerts, a.Alert)
		if want := runbook + "#" + strings.ToLower(a.Alert); a.Annotations["runbook_url"] != want {
			t.Errorf("%s links to %s, want %s", a.Alert, a.Annotations["runbook_url"], want)
		}
		if a.Annotations["summary"] == "" || a.Annotations["description"] == "" || a.Labels["severity"] == "" {
			t.Errorf("%s lacks a summary, a description or a severity", a.Alert)
		}
	}
	slices.Sort(sections)
	slices.Sort(alerts)
	if !slices.Equal(sections, alerts) {
		t.Errorf("the runbook has sections for %q, but the alerts are %q", sections, alerts)
	}
}

func TestWhatATeamChangesOfTheAlerts(t *testing.T) {
	rule := ruleObject(t, `
rules: {enabled: true, alertLabels: {team: jvm, severity: page}, pauseSeconds: 0.05, sinkSeconds: 7200,
  without: [UllageInjectorDown, UllageInjectorFailing, UllageInjectorCertificate, UllagePodsWithoutSidecar]}`)
	for _, g := range rule.Spec.Groups {
		if g.Name == "ullage-injector" {
			t.Error("the group ullage-injector has no rules but is left, want it removed")
		}
	}
	for _, a := range rule.alerts() {
		if a.Labels["team"] != "jvm" || a.Labels["severity"] != "page" {
			t.Errorf(`the alert %s has the labels %v, want team=jvm and severity=page`, a.Alert, a.Labels)
		}
		if want := map[string]string{"UllagePauseOverObjective": "> 0.05", "UllageSinkBehind": "> 7200"}[a.Alert]; !strings.HasSuffix(a.Expr, want) {
			t.Errorf("the expression of %s is %s, want it to end with %s", a.Alert, a.Expr, want)
		}
	}
}

// The certificate is renewed when a third of its lifetime is left. An alert before that would be a false alarm.
func TestTheCertificatesAlertGoesByItsLifetime(t *testing.T) {
	for values, want := range map[string]string{
		"rules: {enabled: true}":                                     "< 604800",
		"{rules: {enabled: true}, certificates: {lifetime: 24h}}":    "< 14400",
		"{rules: {enabled: true}, certificates: {lifetime: 24h30m}}": "< 14400",
		"{rules: {enabled: true}, certificates: {secretName: a, caBundle: '-----BEGIN CERTIFICATE-----', lifetime: 24h}}": "< 604800",
	} {
		for _, a := range ruleObject(t, values).alerts() {
			if a.Alert == "UllageInjectorCertificate" && !strings.HasSuffix(a.Expr, want) {
				t.Errorf("%s: the expression is %s, want it to end with %s", values, a.Expr, want)
			}
		}
	}
}
