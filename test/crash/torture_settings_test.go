package crash

import (
	"flag"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/ship"
	"github.com/ullage/ullage/internal/sidecar"
)

// An extreme is one flag, or several flags that are drawn together, with the values to draw from: the least, the
// most, the default, and unusual values.
type extreme struct {
	flags  []string
	values [][]string
}

// one returns an extreme of a single flag.
func one(flag string, values ...string) extreme {
	e := extreme{flags: []string{flag}}
	for _, v := range values {
		e.values = append(e.values, []string{v})
	}
	return e
}

// tortured are the extremes of all settings for shipping lines.
var tortured = []extreme{
	one("budget", "0", "1Mi", "3Mi", tortureTmpfs),
	one("keep-level", "trace", "debug", "info", "warning", "error", "off"),
	{[]string{"persist-level", "hindsight", "hindsight-on"}, [][]string{
		{"trace", "1m", ""}, {"trace", "0s", ""}, {"debug", "2s", "warning"}, {"info", "0s", ""}, {"info", "1m", ""}, {"info", "1s", "warning"},
		{"warning", "3s", "dropped"}, {"error", "1h", ""}, {"error", "1ms", "warning"}}},
	one("sync-interval", "10ms", "50ms", "200ms", "1s", "10s", "1h"),
	one("segment-bytes", "4Ki", "64Ki", "1Mi", "64Mi", "4Gi"),
	one("compress", "zstd", "none"),
	one("reclaim", "auto", "punch", "unlink", "none"),
	one("match", "*.log*", "*", "gc-*"),
	one("format", "", "*=auto", "gc-*=ul"),
}

// untortured are the settings for shipping lines that are not drawn, with the reason.
var untortured = map[string]string{
	"source":        "the directory of the round",
	"dest":          "the directory of the round",
	"retain-bytes":  "0: the account needs every line",
	"retain-age":    "0: the account needs every line",
	"drain-timeout": "longer than any drain takes: a test of its own is about an end before that",
}

// keptLines are the flags of every sidecar of the torture.
var keptLines = []string{"--retain-bytes", "0", "--retain-age", "0", "--drain-timeout", "5m"}

// draw draws the flags of one sidecar. Settings in fixed have the given values instead.
func draw(rng *rand.Rand, fixed map[string]string) []string {
	flags := append([]string{}, keptLines...)
	for _, e := range tortured {
		values := e.values[rng.IntN(len(e.values))]
		for i, name := range e.flags {
			value := values[i]
			if v, ok := fixed[name]; ok {
				value = v
			}
			flags = append(flags, "--"+name+"="+value)
		}
	}
	return flags
}

// Each setting for shipping lines is tortured or listed in untortured.
func TestTortureKnowsEverySetting(t *testing.T) {
	cfg := ship.DefaultConfig()
	ships := flag.NewFlagSet("ship", flag.ContinueOnError)
	cfg.Flags(ships)
	all := sidecar.DefaultConfig()
	run := flag.NewFlagSet("run", flag.ContinueOnError)
	all.Flags(run)
	known := map[string]bool{}
	for _, e := range tortured {
		for _, name := range e.flags {
			if known[name] = true; run.Lookup(name) == nil {
				t.Errorf("--%s is tortured, but ullage run has no such setting", name)
			}
		}
	}
	for name := range untortured {
		if ships.Lookup(name) == nil || known[name] {
			t.Errorf("--%s is an exception, but is tortured or is not a setting for shipping lines", name)
		}
	}
	ships.VisitAll(func(f *flag.Flag) {
		if _, exception := untortured[f.Name]; !known[f.Name] && !exception {
			t.Errorf("--%s is neither tortured nor an exception: add its extremes", f.Name)
		}
	})
}

// Every combination of settings that is drawn is valid.
func TestTortureDrawsValidSettings(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		cfg := sidecar.DefaultConfig()
		fs := flag.NewFlagSet("run", flag.ContinueOnError)
		fs.SetOutput(io.Discard)
		cfg.Flags(fs)
		flags := draw(rng, nil)
		bad := settings.Parse(fs, flags, func(string) (string, bool) { return "", false })
		if bad = append(bad, cfg.Validate()...); len(bad) > 0 {
			t.Fatalf("the flags %v are invalid, want valid flags: %v", flags, bad)
		}
	}
}
