package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/census"
	"github.com/ullage/ullage/internal/jvm/insight"
	"github.com/ullage/ullage/internal/jvm/levels"
	"github.com/ullage/ullage/internal/jvm/trigger"
	"github.com/ullage/ullage/internal/ship"
	"github.com/ullage/ullage/internal/ship/ring"
	"github.com/ullage/ullage/internal/sidecar"
	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/address"
	"github.com/ullage/ullage/internal/sink/stdout"
	"github.com/ullage/ullage/test/lab"
)

var update = flag.Bool("update", false, "write the tables of docs/reference.md instead of comparing them")

const reference = "../../docs/reference.md"

// TestReferenceTables compares the tables of docs/reference.md with the code. `go test ./cmd/ullage -run
// ReferenceTables -update` writes the tables.
func TestReferenceTables(t *testing.T) {
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	want := string(text)
	for name, table := range map[string]string{"flags": flagsTable(), "metrics": metricsTable(t)} {
		want = replaceSection(t, want, name, table)
	}
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatal("the tables of docs/reference.md do not match the code; write them with: go test ./cmd/ullage -run ReferenceTables -update")
	}
	if err := os.WriteFile(reference, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// replaceSection puts table between the comments that begin and end a section.
func replaceSection(t *testing.T, text, name, table string) string {
	t.Helper()
	section := regexp.MustCompile(`(?s)(<!-- ` + name + `: .*? -->\n).*?(<!-- end of ` + name + ` -->)`)
	if !section.MatchString(text) {
		t.Fatalf("docs/reference.md has no section %q", name)
	}
	return section.ReplaceAllString(text, "${1}"+strings.ReplaceAll(table, "$", "$$")+"${2}")
}

func flagsTable() string {
	cfg := sidecar.DefaultConfig()
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	cfg.Flags(fs)
	var b strings.Builder
	b.WriteString("| flag | default | |\n|---|---|---|\n")
	for _, r := range settings.Rows(fs) {
		value := ""
		if r.Default != "" {
			value = "`" + r.Default + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Flag, value, cell(r.Usage))
	}
	return b.String()
}

func cell(s string) string { return strings.NewReplacer("\n", " ", "|", `\|`).Replace(s) }

// descriptor parses a metric's description, because the library does not export its parts.
var descriptor = regexp.MustCompile(`fqName: "([^"]*)", help: "(.*?)", (?:unit: ".*?", )?constLabels: \{.*?\}, variableLabels: \{(.*?)\}`)

func metricsTable(t *testing.T) string {
	reg := newRecorder()
	s, _ := shipper(t, reg)
	runUntilDrained(t, s) // registers the destination's metrics and then unregisters them
	var rows []string
	for _, m := range reg.described(t) {
		labels := ""
		if len(m.labels) > 0 {
			labels = "`" + strings.Join(m.labels, "`, `") + "`"
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", m.name, labels, cell(m.help)))
	}
	slices.Sort(rows)
	return "| metric | labels | |\n|---|---|---|\n" + strings.Join(rows, "")
}

// recorder records all metrics ever registered, including metrics that were unregistered.
type recorder struct {
	prometheus.Registerer
	ever       *prometheus.Registry
	collectors []prometheus.Collector
}

func newRecorder() *recorder {
	return &recorder{Registerer: prometheus.NewRegistry(), ever: prometheus.NewRegistry()}
}

func (r *recorder) Register(c prometheus.Collector) error {
	r.collectors = append(r.collectors, c)
	return errors.Join(r.Registerer.Register(c), r.ever.Register(c))
}

func (r *recorder) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if err := r.Register(c); err != nil {
			panic(err)
		}
	}
}

// described is a metric as its collector describes it.
type described struct {
	name, help string
	labels     []string
	of         prometheus.Collector
}

// described returns every metric that was ever registered.
func (r *recorder) described(t *testing.T) (all []described) {
	t.Helper()
	for _, c := range r.collectors {
		descs := make(chan *prometheus.Desc, 1000)
		c.Describe(descs)
		close(descs)
		for d := range descs {
			m := descriptor.FindStringSubmatch(d.String())
			if m == nil {
				t.Fatalf("cannot parse the description %s", d)
			}
			all = append(all, described{name: m[1], help: m[2], labels: strings.FieldsFunc(m[3], func(r rune) bool { return r == ',' }), of: c})
		}
	}
	return all
}

// shipper returns a Shipper on temporary directories. It registers all metrics that `ullage run` registers.
func shipper(t *testing.T, reg prometheus.Registerer) (*ship.Shipper, string) {
	t.Helper()
	source := t.TempDir()
	cfg := ship.DefaultConfig()
	cfg.Tail.Source, cfg.Dest, cfg.SyncInterval = source, t.TempDir(), 10*time.Millisecond
	s := ship.New(cfg, reg, slog.New(slog.DiscardHandler))
	triggers := trigger.New(trigger.DefaultConfig(), nil, reg)
	levels.New(levels.DefaultConfig(), triggers, levels.Outlets{}, reg, slog.New(slog.DiscardHandler))
	kinds := map[string]sink.Kind{"stdout": stdout.Kind(io.Discard)}
	if _, err := sink.New(sink.Config{URLs: address.URLs{"stdout:"}}, kinds, t.TempDir(), reg, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	ring.New(reg, slog.New(slog.DiscardHandler), nil)
	census.New(levels.DefaultConfig().Config, census.Outlets{}, reg, slog.New(slog.DiscardHandler))
	insight.New(insight.DefaultConfig(), triggers, nil, reg, slog.New(slog.DiscardHandler))
	reg.MustRegister(build.Read("").Metric("ullage_build_info"))
	return s, source
}

// runUntilDrained ships all lines and closes what shipper opened.
func runUntilDrained(t *testing.T, s *ship.Shipper) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Run(ctx, ship.Outlets{}); err != nil {
		t.Error(err)
	}
}

// Prometheus's own linter must find nothing in any metric of a sidecar, including metrics without a value and metrics
// of a closed destination.
func TestMetricsAreWellFormed(t *testing.T) {
	reg := newRecorder()
	s, source := shipper(t, reg)
	if err := os.WriteFile(filepath.Join(source, "gc.log"), []byte("[0.1s][info][gc] one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	runUntilDrained(t, s)
	for _, m := range reg.described(t) {
		some := make([]string, len(m.labels))
		for i := range some {
			some[i] = "some"
		}
		switch vec := m.of.(type) {
		case *prometheus.CounterVec:
			vec.WithLabelValues(some...)
		case *prometheus.GaugeVec:
			vec.WithLabelValues(some...)
		case *prometheus.HistogramVec:
			vec.WithLabelValues(some...)
		}
		if n, err := testutil.GatherAndCount(reg.ever, m.name); err != nil || n == 0 {
			t.Errorf("%d series of %s, error %v; want at least one to lint, and no error", n, m.name, err)
		}
	}
	problems, err := testutil.GatherAndLint(reg.ever)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("the linter says about %s: %s; want no problem", p.Metric, p.Text)
	}
}

// Users would never find a metric that docs/reference.md does not list. Some metrics exist only while the destination
// is open.
func TestReferenceHasEveryMetricOfARunningSidecar(t *testing.T) {
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	cfg := sidecar.DefaultConfig()
	cfg.Ship.Tail.Source, cfg.Ship.Dest, cfg.Ship.SyncInterval = t.TempDir(), t.TempDir(), 10*time.Millisecond
	cfg.Admin.Listen, cfg.Levels.Attach.Mode = "127.0.0.1:0", attach.Off
	if err := os.WriteFile(filepath.Join(cfg.Ship.Tail.Source, "gc.log"), []byte("[0.1s][info][gc] one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	metrics := metricsOfASidecar(t, cfg, `ullage_persisted_lines_total{level="info",stream="gc.log"} 1`)
	names := regexp.MustCompile(`(?m)^# TYPE (ullage_\S+) `).FindAllStringSubmatch(metrics, -1)
	for _, name := range names {
		if !strings.Contains(string(text), "\n| `"+name[1]+"` |") {
			t.Errorf("docs/reference.md does not list %s", name[1])
		}
	}
	if !strings.Contains(metrics, "# TYPE ullage_segments gauge") {
		t.Errorf("a sidecar that ships has %d metrics, want ullage_segments among them", len(names))
	}
}

// metricsOfASidecar runs a sidecar until its metrics contain text. It returns the metrics.
func metricsOfASidecar(t *testing.T, cfg sidecar.Config, text string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- sidecar.Run(ctx, cfg, build.Read(""), nil, slog.New(slog.NewJSONHandler(in, nil)))
		in.Close()
	}()
	defer func() {
		cancel()
		out.Close() // nothing reads the log any more
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	log := json.NewDecoder(out)
	var said struct{ Listen string }
	for said.Listen == "" {
		if err := log.Decode(&said); err != nil {
			t.Fatal(err)
		}
	}
	go io.Copy(io.Discard, out)
	metrics := ""
	for deadline := time.Now().Add(lab.Patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if metrics = get(t, "http://"+said.Listen+"/metrics"); strings.Contains(metrics, text) {
			return metrics
		}
	}
	t.Fatalf("no %s in\n%s", text, metrics)
	return ""
}

func get(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
