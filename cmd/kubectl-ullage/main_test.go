package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"kubectl-ullage": main, "kubectl": fakeKubectl})
}

// TestScript runs the real command line against a kubectl that plays recorded
// answers: testdata/script/*.txtar, of which each says at its beginning why it
// exists. What a cluster does with the same calls is for the tests that have
// one.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Setup: func(e *testscript.Env) error {
		// A program under the race detector sleeps for a second as it exits.
		e.Setenv("GORACE", "atexit_sleep_ms=0")
		e.Setenv("FAKE", filepath.Join(e.WorkDir, "fake"))
		e.Setenv("TZ", "UTC")
		return nil
	}})
}
