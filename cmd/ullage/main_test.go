package main

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/test/help"
	"github.com/ullage/ullage/test/txtar"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"ullage": main, "mkseg": mkseg, "unpack": txtar.Unpack})
}

// TestScript runs the real command line. Each script in testdata/script/*.txtar says
// at its beginning why it exists.
func TestScript(t *testing.T) { txtar.Run(t, nil) }

func TestEveryHelpHasAnExample(t *testing.T) {
	help.HasExamples(t, "ullage", program().Usage("ullage"), func(command string) string {
		var out strings.Builder
		dispatch(t.Context(), []string{command, "--help"}, cli.Env{Program: "ullage", Stdout: &out, Stderr: &out, LookupEnv: os.LookupEnv})
		return out.String()
	})
}
