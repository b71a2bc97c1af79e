// Package txtar runs the txtar scripts of a command's tests on every system for which the command is built.
package txtar

import (
	"archive/zip"
	"fmt"
	"log"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Run runs testdata/script/*.txtar with the commands that the test's TestMain has passed to testscript.Main. setup
// may be nil; it adds to the environment.
func Run(t *testing.T, setup func(*testscript.Env)) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Setup: func(e *testscript.Env) error {
		// A program under the race detector would sleep for a second as it exits.
		e.Setenv("GORACE", "atexit_sleep_ms=0")
		if setup != nil {
			setup(e)
		}
		return nil
	}})
}

// Unpack is a command for scripts. It unpacks a zip into a new directory and prints the names of its files:
//
//	unpack ARCHIVE DIR
func Unpack() {
	r, err := zip.OpenReader(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range r.File {
		fmt.Println(f.Name)
	}
	if err := os.CopyFS(os.Args[2], r); err != nil {
		log.Fatal(err)
	}
}
