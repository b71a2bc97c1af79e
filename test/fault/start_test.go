package fault

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

// runAs starts ullage as another user.
func runAs(t *testing.T, uid uint32, args ...string) *lab.Sidecar {
	t.Helper()
	needRoot(t)
	cmd := exec.Command(lab.Binary(), args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	side, err := lab.StartCommand(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(side.Kill)
	return side
}

// refuses waits for exit status 1 and a reason that contains all the words.
func refuses(t *testing.T, side *lab.Sidecar, words ...string) {
	t.Helper()
	code, err := side.Wait(patience)
	if err != nil {
		t.Fatal(err)
	}
	if code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	for _, word := range words {
		if !strings.Contains(side.Stderr(), word) {
			t.Errorf("%q is not in the sidecar's output:\n%s", word, side.Stderr())
		}
	}
	t.Log(strings.TrimSpace(side.Stderr()))
}

func TestDestinationIsNotWritableAtTheStart(t *testing.T) {
	needRoot(t)
	source, dest := lab.Tmpfs(t, "16m"), filepath.Join(t.TempDir(), "dest")
	if err := os.Mkdir(dest, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(filepath.Dir(dest)), 0o755); err != nil {
		t.Fatal(err)
	}
	refuses(t, runAs(t, 65534, "run", "--source", source, "--dest", dest, "--listen", "off"),
		dest, "uid 65534", "mode drwxr-xr-x, uid 0", "permission denied")
}

func TestSecondSidecarOnTheSameDestination(t *testing.T) {
	source, dest := lab.Tmpfs(t, "16m"), t.TempDir()
	first := lab.Run(t, source, dest)
	// The sidecar reports its address before it has the destination.
	lab.Eventually(t, patience, "the first one has the destination", func() bool {
		status, _, err := first.Get("/readyz")
		return err == nil && status == http.StatusOK
	})
	refuses(t, lab.Run(t, lab.Tmpfs(t, "16m"), dest), dest, "in use by another ullage", "pid ")
	if first.Exited() {
		t.Error("the first sidecar has ended, want it running")
	}
}
