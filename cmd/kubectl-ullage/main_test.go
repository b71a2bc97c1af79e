package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/test/help"
	"github.com/ullage/ullage/test/txtar"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"kubectl-ullage": main, "kubectl": fakeKubectl, "mkincident": mkincident, "unpack": txtar.Unpack})
}

// TestScript runs the real command line with a kubectl that replays recorded answers. Each script in
// testdata/script/*.txtar begins with the reason for it. The tests in test/e2e make the same calls to a cluster.
func TestScript(t *testing.T) {
	complete, err := filepath.Abs("kubectl_complete-ullage")
	if err != nil {
		t.Fatal(err)
	}
	txtar.Run(t, func(e *testscript.Env) {
		e.Setenv("COMPLETE", complete)
		e.Setenv("FAKE", filepath.Join(e.WorkDir, "fake"))
		e.Setenv("TZ", "UTC")
	})
}

func TestEveryHelpHasAnExample(t *testing.T) {
	help.HasExamples(t, program, commandLine(&cluster{}).Usage(program), func(command string) string {
		var out strings.Builder
		dispatch(t.Context(), []string{command, "--help"}, cli.Env{Program: program, FlagsOnly: true, Stdout: &out, Stderr: &out, LookupEnv: os.LookupEnv})
		return out.String()
	})
}
