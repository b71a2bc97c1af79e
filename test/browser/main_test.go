package browser

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// programs is the directory of the project's programs. TestMain builds them.
var programs string

func TestMain(m *testing.M) {
	code, err := prepare(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// prepare builds ullage and runs the tests. It builds in the project's own module, because the go.sum of this module
// lacks some of the modules that ullage needs.
func prepare(m *testing.M) (code int, err error) {
	if programs, err = os.MkdirTemp("", "ullage-browser-"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(programs)
	out, err := exec.Command("go", "build", "-C", "../..", "-buildvcs=false", "-o", filepath.Join(programs, "ullage"), "./cmd/ullage").CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("build ullage: %w\n%s", err, out)
	}
	return m.Run(), nil
}
