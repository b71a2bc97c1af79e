package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"ullage-injector": main})
}

// TestScript runs the real command line: testdata/script/*.txtar, of which
// each says at its beginning why it exists.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Setup: func(e *testscript.Env) error {
		// A program under the race detector sleeps for a second as it exits.
		e.Setenv("GORACE", "atexit_sleep_ms=0")
		return nil
	}})
}
