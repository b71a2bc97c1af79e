package chart

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/test/lab"
)

const dashboardFile = chartDir + "/files/dashboard.json"

// dashboard has the parts of a Grafana dashboard that the tests examine.
type dashboard struct {
	UID        string `json:"uid"`
	Templating struct {
		List []struct {
			Name  string `json:"name"`
			Query any    `json:"query"` // an object, or for a data source a string
		} `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

type panel struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Grid        struct {
		X int `json:"x"`
		Y int `json:"y"`
		W int `json:"w"`
		H int `json:"h"`
	} `json:"gridPos"`
	Datasource struct {
		UID string `json:"uid"`
	} `json:"datasource"`
	Targets []struct {
		RefID  string `json:"refId"`
		Expr   string `json:"expr"`
		Legend string `json:"legendFormat"`
	} `json:"targets"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// queries returns the queries by key: the panel's title and the query's letter.
func (d dashboard) queries() map[string]string {
	all := map[string]string{}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			all[p.Title+"/"+target.RefID] = target.Expr
		}
	}
	return all
}

func TestEveryPanelSaysWhatItShows(t *testing.T) {
	d := readDashboard(t)
	ids, titles := map[int]bool{}, map[string]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.ID == 0 || titles[p.Title] || p.Title == "" {
			t.Errorf("panel %d, %q: the number or the title is empty or repeated, want both to be unique", p.ID, p.Title)
		}
		ids[p.ID], titles[p.Title] = true, true
		if p.Type == "row" {
			continue
		}
		if !slices.Contains([]string{"stat", "timeseries", "heatmap"}, p.Type) {
			t.Errorf("%s is a panel of type %q, want stat, timeseries or heatmap", p.Title, p.Type)
		}
		if p.Description == "" || p.FieldConfig.Defaults.Unit == "" || p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
			t.Errorf("%s lacks a description, a unit, the data source or a query: %+v", p.Title, p)
		}
	}
}

func TestNoPanelLiesOnAnother(t *testing.T) {
	taken := map[[2]int]string{}
	for _, p := range readDashboard(t).Panels {
		g := p.Grid
		if g.W < 1 || g.H < 1 || g.X < 0 || g.X+g.W > 24 {
			t.Errorf("%s is not within the grid: %+v", p.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("%s lies on %s, want no panel there", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}

var variable = regexp.MustCompile(`\$\{?(\w+)`)

func TestEveryVariableIsDefined(t *testing.T) {
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	defined := []string{"__all", "__rate_interval", "__range"} // Grafana's own
	for _, v := range readDashboard(t).Templating.List {
		defined = append(defined, v.Name)
	}
	if want := []string{"datasource", "namespace", "pod", "stream"}; !slices.Equal(defined[3:], want) {
		t.Errorf("the variables are %q, want %q", defined[3:], want)
	}
	for _, m := range variable.FindAllSubmatch(text, -1) {
		if !slices.Contains(defined, string(m[1])) {
			t.Errorf("the variable %s is not defined, want it in the list of variables", m[0])
		}
	}
}

// grafana expands the variables as Grafana does with everything selected. The intervals are for a short test.
var grafana = strings.NewReplacer("$namespace", ".*", "$pod", ".*", "$stream", ".*", "$__rate_interval", "5s", "$__range", "10s")

// TestPrometheusParsesEveryQuery lets promtool parse the queries as expressions of rules.
func TestPrometheusParsesEveryQuery(t *testing.T) {
	var rules []alert
	for key, query := range readDashboard(t).queries() {
		rules = append(rules, alert{Alert: key, Expr: grafana.Replace(query)})
	}
	path := filepath.Join(t.TempDir(), "queries.yaml")
	writeRules(t, path, ruleFile{Groups: []ruleGroup{{Name: "queries", Rules: rules}}})
	t.Log(promtool(t, "check", "rules", path))
}

// TestTheConfigMapHasTheDashboard compares the rendered ConfigMap with the file, and its metadata with what the
// sidecar of Grafana's chart looks for.
func TestTheConfigMapHasTheDashboard(t *testing.T) {
	file, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all[corev1.ConfigMap](decode(t, rendering{"monitors", "ullage", "ullage-system"}.render(t))) {
		if c.Data["ullage.json"] == "" {
			continue
		}
		if c.Data["ullage.json"] != string(file) || c.Labels["grafana_dashboard"] != "1" || c.Annotations["grafana_folder"] != "JVM" || c.Name != "ullage-dashboard" {
			t.Errorf("the ConfigMap %s has the labels %v and the annotations %v; want ullage-dashboard with grafana_dashboard 1, grafana_folder JVM and the file", c.Name, c.Labels, c.Annotations)
		}
		return
	}
	t.Error("there is no ConfigMap with a dashboard, want one")
}

// The epoch at the beginning is the date of the SDK's release. The rest is the version of Grafana.
const foundationSDK = "1769699379!11.6.0"

// TestGrafanaKnowsEveryField reads the dashboard into the types of Grafana's Foundation SDK, which are generated from
// Grafana's own schemas, and writes it again. A field that Grafana does not know is missing afterwards.
func TestGrafanaKnowsEveryField(t *testing.T) {
	python := foundationPython(t)
	out, err := lab.Command(time.Minute, python, "testdata/foundation.py", dashboardFile)
	if err != nil || out != "" {
		t.Errorf("the check prints %s, error %v; want no output and no error", out, err)
	}
	// Make sure that the check finds a wrong field.
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"legendFormat", "colorMode", "noValue", "showPoints", "fieldConfig", "includeAll"} {
		wrong := filepath.Join(t.TempDir(), "wrong.json")
		if err := os.WriteFile(wrong, bytes.ReplaceAll(text, []byte(`"`+field+`"`), []byte(`"`+field+`s"`)), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := lab.Command(time.Minute, python, "testdata/foundation.py", wrong); err != nil || !strings.Contains(out, field+"s") {
			t.Errorf("with %ss, the check says %q, error %v; want that name in it and no error", field, out, err)
		}
	}
}

// foundationPython returns a Python with the SDK, which it installs into the cache once.
func foundationPython(t *testing.T) string {
	t.Helper()
	_, version, _ := strings.Cut(foundationSDK, "!")
	python, err := lab.Python("grafana-foundation-sdk-"+version, "grafana-foundation-sdk=="+foundationSDK)
	if err != nil {
		lab.Needs(t, "Grafana's Foundation SDK: "+err.Error())
	}
	return python
}
