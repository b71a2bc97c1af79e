package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/levels"
	"github.com/ullage/ullage/internal/jvm/trigger"
	"github.com/ullage/ullage/internal/line/loggers"
	"github.com/ullage/ullage/test/lab"
)

// keepsLevels runs a manager of the log levels for a source, as a sidecar does. It returns the environment for a command
// that runs in the sidecar's container.
func keepsLevels(t *testing.T, source string) map[string]string {
	t.Helper()
	cfg := levels.DefaultConfig()
	cfg.Source, cfg.Match = source, "*.log"
	cfg.Attach = attach.Config{Mode: attach.SharedTmp, Tmp: t.TempDir(), Timeout: lab.Patience}
	loop := levels.New(cfg, trigger.New(trigger.DefaultConfig(), nil, prometheus.NewRegistry()), levels.Outlets{AppLevels: func(loggers.Levels) {}},
		prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(ctx, func() {}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	socket := filepath.Join(source, ".ullage", "levels.sock")
	lab.Eventually(t, lab.Patience, "the owner listens", func() bool {
		_, err := os.Stat(socket)
		return err == nil
	})
	return map[string]string{"ULLAGE_SOURCE": source, "ULLAGE_ATTACH": string(attach.SharedTmp), "ULLAGE_JVM_TMP": cfg.Attach.Tmp}
}

// A raise that no JVM can apply must not look effective, and a reset must show which raise it ended.
func TestARaiseOfEventsThatNoJVMTakesFails(t *testing.T) {
	t.Parallel()
	source := t.TempDir()
	env := keepsLevels(t, source)
	run := func(code int, args ...string) (stdout, stderr string) {
		t.Helper()
		var out, errs bytes.Buffer
		e := cli.Env{Program: "ullage", Stdout: &out, Stderr: &errs, LookupEnv: func(name string) (string, bool) { text, ok := env[name]; return text, ok }}
		ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
		defer cancel()
		if got := levelsCmd(ctx, args, e); got != code {
			t.Errorf("%q: exit status %d, want %d; it printed %s%s", args, got, code, &out, &errs)
		}
		return out.String(), errs.String()
	}
	const wanted = "the application's events are raised to debug until "
	out, errs := run(cli.Failure, "set", "--app", "debug", "--for", "1h")
	if !strings.HasPrefix(out, wanted) || !strings.HasPrefix(errs, "ullage levels set: no JVM has a ring in "+source) || strings.Count(errs, "\n") != 1 {
		t.Errorf("without a ring, a raise printed %q and, on stderr, %q, want a note that no JVM has a ring", out, errs)
	}
	if out, _ = run(cli.OK, "reset"); !strings.HasPrefix(out, "the application's events are no longer raised to debug") || strings.Contains(out, "nothing was raised") {
		t.Errorf(`the reset printed %q, want "the application's events are no longer raised to debug" at its start and no "nothing was raised" in it`, out)
	}
	if out, _ = run(cli.OK, "reset"); out != "nothing was raised\n" {
		t.Errorf("the second reset printed %q, want \"nothing was raised\\n\"", out)
	}
	ring, err := os.ReadFile("../../internal/ship/ring/testdata/golden.ring")
	if err == nil {
		err = os.WriteFile(filepath.Join(source, "events-7-1763722140123.ring"), ring, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, errs = run(cli.OK, "set", "--app", "debug", "--for", "1h"); !strings.HasPrefix(out, wanted) || errs != "" {
		t.Errorf("with a ring, a raise printed %q and, on stderr, %q, want the end of the raise and nothing on stderr", out, errs)
	}
}
