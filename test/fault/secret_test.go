package fault

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

// In a shared process namespace the JVM sees the sidecar and runs as the same user. The JVM cannot read the
// sidecar's secrets, such as the key of the checkpoint. The sidecar can still read its own entries in /proc.
func TestTenantSeesNothingOfTheSidecarsProcess(t *testing.T) {
	needRoot(t)
	const nobody = 65534
	source, dest := lab.Tmpfs(t, "16m"), t.TempDir()
	for _, dir := range []string{source, dest} {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dest+"/..", 0o755); err != nil {
		t.Fatal(err)
	}
	side := runAs(t, nobody, "run", "--source", source, "--dest", dest, "--listen", "127.0.0.1:0")
	if _, err := side.Addr(patience); err != nil {
		t.Fatal(err)
	}
	for what, look := range map[string]string{"root/": "ls", "cwd/": "ls", "fd/": "ls", "environ": "cat", "maps": "cat", "exe": "readlink"} {
		cmd := exec.Command(look, fmt.Sprintf("/proc/%d/%s", side.PID(), what))
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		if cmd.Run() == nil {
			t.Errorf("the tenant can read %s of the sidecar's process, want it denied", what)
		}
	}
	if n, err := side.Metric("process_open_fds"); err != nil || n < 5 {
		t.Errorf("the sidecar counts %v of its own descriptors, error %v; want at least 5 and no error", n, err)
	}
}
