package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ullage/ullage/test/txtar"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"ullage-injector": main})
}

// TestScript runs the real command line. Each script in testdata/script/*.txtar says
// at its beginning why it exists.
func TestScript(t *testing.T) { txtar.Run(t, nil) }
