package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/build"
	"github.com/ullage/ullage/internal/levels"
	"github.com/ullage/ullage/internal/settings"
	"github.com/ullage/ullage/internal/ship"
	"github.com/ullage/ullage/internal/sidecar"
)

var update = flag.Bool("update", false, "write the README's tables anew instead of comparing them")

const readme = "../../README.md"

// TestReadmeTables holds the README's reference tables against the code that
// they describe. `go test ./cmd/ullage -run ReadmeTables -update` writes them.
func TestReadmeTables(t *testing.T) {
	text, err := os.ReadFile(readme)
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
		t.Fatal("the README's tables are not those of the code; write them anew with: go test ./cmd/ullage -run ReadmeTables -update")
	}
	if err := os.WriteFile(readme, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// replaceSection puts table between the comments that begin and end a section.
func replaceSection(t *testing.T, text, name, table string) string {
	t.Helper()
	section := regexp.MustCompile(`(?s)(<!-- ` + name + `: .*? -->\n).*?(<!-- end of ` + name + ` -->)`)
	if !section.MatchString(text) {
		t.Fatalf("the README has no section %q", name)
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

// descriptor takes a metric's description apart. The library keeps no other
// way to its parts.
var descriptor = regexp.MustCompile(`fqName: "([^"]*)", help: "(.*?)", (?:unit: ".*?", )?constLabels: \{.*?\}, variableLabels: \{(.*?)\}`)

func metricsTable(t *testing.T) string {
	reg := prometheus.NewRegistry()
	s, _ := shipper(t, reg)
	descs := make(chan *prometheus.Desc, 1000)
	reg.Describe(descs)
	close(descs)
	var rows []string
	for d := range descs {
		m := descriptor.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("cannot take apart %s", d)
		}
		labels := ""
		if m[3] != "" {
			labels = "`" + strings.ReplaceAll(m[3], ",", "`, `") + "`"
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", m[1], labels, cell(m[2])))
	}
	runUntilDrained(t, s)
	slices.Sort(rows)
	return "| metric | labels | |\n|---|---|---|\n" + strings.Join(rows, "")
}

// shipper returns a Shipper on directories of the test's own, with everything
// registered that `ullage run` registers.
func shipper(t *testing.T, reg *prometheus.Registry) (*ship.Shipper, string) {
	t.Helper()
	source := t.TempDir()
	cfg := ship.DefaultConfig()
	cfg.Tail.Source, cfg.Dest, cfg.SyncInterval = source, t.TempDir(), 10*time.Millisecond
	s := ship.New(cfg, reg, slog.New(slog.DiscardHandler))
	levels.New(levels.DefaultConfig(), reg, slog.New(slog.DiscardHandler))
	reg.MustRegister(build.Read("").Metric("ullage_build_info"))
	return s, source
}

// runUntilDrained ships what there is and closes what shipper opened.
func runUntilDrained(t *testing.T, s *ship.Shipper) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Run(ctx); err != nil {
		t.Error(err)
	}
}

// TestMetricsAreWellFormed lets a Shipper see some of everything and asks
// Prometheus's own linter about the result.
func TestMetricsAreWellFormed(t *testing.T) {
	reg := prometheus.NewRegistry()
	s, source := shipper(t, reg)
	text := "[0.1s][info][gc] one\n[0.2s][warning][] 12 messages dropped due to async logging\nnot UL\n"
	if err := os.WriteFile(filepath.Join(source, "gc.log"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("gc.log", filepath.Join(source, "link.log")); err != nil {
		t.Fatal(err)
	}
	runUntilDrained(t, s)
	problems, err := testutil.GatherAndLint(reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if n, err := testutil.GatherAndCount(reg, "ullage_persisted_lines_total"); err != nil || n == 0 {
		t.Errorf("%d counters of persisted lines, %v", n, err)
	}
}
