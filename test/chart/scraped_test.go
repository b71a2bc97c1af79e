package chart

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/ullage/ullage/test/jvm"
	"github.com/ullage/ullage/test/lab"
)

// emptyPanels are the queries that have no answer in this test, with the reason: no series of their metrics exists.
var emptyPanels = map[string]string{
	"Lost before ullage could read/E": "no application has a ring",
	"Lost before ullage could read/F": "no application has a ring",
}

// TestEveryQueryHasAnAnswer lets a real Prometheus scrape an injector and a real sidecar of a real JVM. It runs the
// dashboard's queries there. The chart's rules run there too: no alert fires while all is well. The content of the
// panels becomes a page for the tests in a browser.
func TestEveryQueryHasAnAnswer(t *testing.T) {
	p := scrape(t, startShipping(t), startInjector(t))
	queries := readDashboard(t).queries()
	for key, query := range readDashboard(t).labelQueries(t) {
		queries[key] = query
	}
	deadline := time.Now().Add(lab.Patience)
	for _, key := range slices.Sorted(maps.Keys(queries)) {
		answered := p.answers(t, queries[key])
		for emptyPanels[key] == "" && !answered && time.Now().Before(deadline) {
			time.Sleep(100 * time.Millisecond)
			answered = p.answers(t, queries[key])
		}
		if answered == (emptyPanels[key] != "") {
			t.Errorf("%s has an answer: %t; listed as empty: %q; want exactly one of the two; the query: %s", key, answered, emptyPanels[key], queries[key])
		}
	}
	p.noAlarm(t)
	drawDashboard(t, p)
}

// labelQueries returns, for each variable, a query that counts the values on offer.
func (d dashboard) labelQueries(t *testing.T) map[string]string {
	t.Helper()
	offer := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)
	all := map[string]string{}
	for _, v := range d.Templating.List {
		q, ok := v.Query.(map[string]any)
		if !ok {
			continue
		}
		m := offer.FindStringSubmatch(fmt.Sprint(q["query"]))
		if m == nil {
			t.Fatalf("the variable %s has the query %v, want one that matches %s", v.Name, q, offer)
		}
		all["$"+v.Name] = fmt.Sprintf(`count by (%s) (%s) and count by (%[1]s) ({%[1]s!=""})`, m[2], m[1])
	}
	return all
}

// startShipping starts a JVM that collects garbage, and a sidecar with a sink. The sidecar raises the JVM's level and
// withholds the additional lines. startShipping returns the sidecar's address.
func startShipping(t *testing.T) (addr string) {
	t.Helper()
	dir := t.TempDir()
	program, err := lab.Build(dir, "ullage")
	if err != nil {
		t.Fatal(err)
	}
	jdks := lab.NeedsJDKs(t)
	jdk := jdks[len(jdks)-1]
	classes, err := jvm.Compile(jdk, filepath.Join(dir, "java"))
	if err != nil {
		t.Fatal(err)
	}
	source, annotations := filepath.Join(dir, "log"), filepath.Join(dir, "annotations")
	if err := os.Mkdir(source, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(annotations, []byte("ullage.dev/log=\"gc*=trace\"\nullage.dev/log-for=\"10m\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	java := exec.Command(jdk.Java(), "-Xmx64m", "-XX:+UseG1GC", "-XX:InitiatingHeapOccupancyPercent=5", "-XX:G1HeapWastePercent=0", "-XX:+StartAttachListener",
		"-Xlog:gc*=debug,safepoint*=debug:file="+filepath.Join(source, "gc.log")+":time,uptime,level,tags:filecount=1,filesize=0",
		"-cp", classes, "Churn", "600000", "40")
	if err := java.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = java.Process.Kill() // fails only if the JVM has ended
		_ = java.Wait()
	})
	addr = started(t, exec.Command(program, "run", "--source", source, "--dest", filepath.Join(dir, "dest"), "--budget", "64Mi",
		"--annotations", annotations, "--persist-level", "debug", "--sink", "stdout:", "--listen", "127.0.0.1:0", "--segment-bytes", "4Ki"))
	if _, err := lab.Command(time.Minute, filepath.Join(filepath.Dir(jdk.Java()), "jcmd"), strconv.Itoa(java.Process.Pid), "GC.run"); err != nil {
		t.Fatal(err) // a full collection, which shows how much data is live
	}
	if _, err := lab.Command(time.Minute, program, "levels", "save", "--source", source); err != nil {
		t.Fatal(err)
	}
	return addr
}

// startInjector starts an injector with a certificate in files and returns its address.
func startInjector(t *testing.T) (addr string) {
	t.Helper()
	dir := t.TempDir()
	program, err := lab.Build(dir, "ullage-injector")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, []byte(`{"image": "registry.example/ullage:v1"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cert, key := lab.Certificate(t, "injector.example.svc")
	return started(t, exec.Command(program, "serve", "--config", config, "--tls-cert", cert, "--tls-key", key,
		"--webhook-listen", "127.0.0.1:0", "--listen", "127.0.0.1:0"))
}

// started starts one of our programs until the test ends. It returns the address that the program reports.
func started(t *testing.T, cmd *exec.Cmd) (addr string) {
	t.Helper()
	s, err := lab.StartCommand(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	if addr, err = s.Addr(lab.Patience); err != nil {
		t.Fatal(err)
	}
	return addr
}

// A scraper is a running Prometheus.
type scraper struct{ url string }

// scrape starts a Prometheus with the chart's rules and waits until it is ready. Prometheus sees the sidecar as the
// PodMonitor would present it.
func scrape(t *testing.T, sidecar, injector string) scraper {
	t.Helper()
	programs, err := prometheusPrograms()
	if err != nil {
		lab.Needs(t, "prometheus and promtool: "+err.Error())
	}
	port, err := lab.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeRules(t, filepath.Join(dir, "rules.yaml"), ruleObject(t, "rules: {enabled: true}").Spec)
	config := fmt.Sprintf(`
global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}
rule_files: [rules.yaml]
scrape_configs:
  - job_name: ullage
    static_configs:
      - {targets: [%q], labels: {namespace: shop, pod: web, container: ullage}}
      - {targets: [%q], labels: {namespace: ullage-system, pod: injector, container: injector}}
`, sidecar, injector)
	file := filepath.Join(dir, "prometheus.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var said lab.Journal
	cmd := exec.Command(filepath.Join(programs, "prometheus"), "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address=127.0.0.1:"+strconv.Itoa(port))
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // fails only if it has ended
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	p := scraper{fmt.Sprintf("http://127.0.0.1:%d", port)}
	for end := time.Now().Add(lab.Patience); ; time.Sleep(50 * time.Millisecond) {
		resp, err := http.Get(p.url + "/-/ready")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return p
			}
		}
		if time.Now().After(end) {
			t.Fatalf("Prometheus is not ready: %v", err)
		}
	}
}

// get decodes the data of one of Prometheus's answers.
func (p scraper) get(t *testing.T, path string, into any) {
	t.Helper()
	resp, err := http.Get(p.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %s, body %s, error %v; want %d and no error", path, resp.Status, body, err, http.StatusOK)
	}
	if err := json.Unmarshal(body, &struct{ Data any }{into}); err != nil {
		t.Fatal(err)
	}
}

// answers reports whether a query has a number as its answer. The query must be valid.
func (p scraper) answers(t *testing.T, query string) bool {
	t.Helper()
	var data struct {
		Result []struct{ Value [2]any }
	}
	p.get(t, "/api/v1/query?query="+url.QueryEscape(grafana.Replace(query)), &data)
	for _, r := range data.Result {
		text, _ := r.Value[1].(string)
		if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(v) {
			return true
		}
	}
	return false
}

// noAlarm checks that every rule was evaluated without an error and that no alert fires.
func (p scraper) noAlarm(t *testing.T) {
	t.Helper()
	var data struct {
		Groups []struct {
			Rules []struct {
				Name, Health, State, LastError string
				Alerts                         []struct{ Labels map[string]string }
			}
		}
	}
	p.get(t, "/api/v1/rules", &data)
	n := 0
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			n++
			if r.Name == "UllageStallSuspected" && r.Health == "ok" && len(r.Alerts) > 0 {
				t.Logf("the machine is busy: the JVM waited, and %s is right: %v", r.Name, r.Alerts)
				continue
			}
			if r.Health != "ok" || r.State == "firing" {
				t.Errorf("the rule %s is %s for %v, its health %s: %s; want it ok and not firing", r.Name, r.State, r.Alerts, r.Health, r.LastError)
			}
		}
	}
	if n < 10 {
		t.Errorf("Prometheus has %d rules, want at least 10", n)
	}
}
