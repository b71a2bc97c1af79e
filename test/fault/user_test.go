package fault

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/test/lab"
)

// If a pod does not say which user its JVM runs as, the sidecar runs as the user of its own image with --attach off.
// The sidecar takes the owner of the log as the JVM's user. Wherever the sidecar reports that something does not
// work, it says what to set.
func TestSidecarOfAnotherUserSaysWhatToSet(t *testing.T) {
	needRoot(t)
	const ours = 65532
	for name, c := range map[string]struct {
		source, file os.FileMode
		want         string
	}{
		"a log that it may read":               {0o777, 0o644, "the JVM runs as 1001:0: set runAsUser: 1001, runAsGroup: 0"},
		"a log that it may not read":           {0o777, 0o600, "the JVM runs as 1001:0: set runAsUser: 1001, runAsGroup: 0"},
		"the group is the volume's by fsGroup": {0o777 | os.ModeSetgid, 0o644, "the JVM runs as user 1001: set runAsUser: 1001, and runAsGroup to its group, which `id -g` in its container prints"},
	} {
		t.Run(name, func(t *testing.T) {
			source, dest := lab.Tmpfs(t, "16m"), t.TempDir()
			for dir, mode := range map[string]os.FileMode{source: c.source, dest: 0o777, filepath.Dir(dest): 0o755} {
				if err := os.Chmod(dir, mode); err != nil {
					t.Fatal(err)
				}
			}
			log := filepath.Join(source, "gc-1.log")
			if err := os.WriteFile(log, []byte("[1.000s][info][gc] one\n"), c.file); err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(log, 1001, 0); err != nil {
				t.Fatal(err)
			}
			annotations := filepath.Join(filepath.Dir(dest), "annotations")
			if err := os.WriteFile(annotations, []byte(lab.DownwardFile(map[string]string{ask.Prefix + "trigger": "dropped"})), 0o644); err != nil {
				t.Fatal(err)
			}
			side := runAs(t, ours, "run", "--source", source, "--dest", dest, "--listen", "127.0.0.1:0", "--attach", "off", "--annotations", annotations)
			addr, err := side.Addr(patience)
			if err != nil {
				t.Fatal(err)
			}
			var st admin.Status
			lab.Eventually(t, patience, "the user of the JVM and the trigger are in /status", func() bool {
				_, body, err := side.Get("/status")
				return err == nil && json.Unmarshal([]byte(body), &st) == nil && st.JVMUser != nil && st.Levels != nil && st.Levels.Trigger != nil
			})
			if never := st.Levels.Trigger.Never; never != "--attach is off: levels are not changed; "+c.want {
				t.Errorf("the trigger reports %q, want \"--attach is off: levels are not changed; %s\"", never, c.want)
			}
			if st.JVMUser.Advice != c.want || st.JVMUser.UID != 1001 || (st.JVMUser.GID == nil) != (c.source&os.ModeSetgid != 0) {
				t.Errorf("/status says %+v, want %q", *st.JVMUser, c.want)
			}
			out, err := exec.Command(lab.Binary(), "status", "--addr", addr).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "the sidecar does not change it ("+c.want+")") {
				t.Errorf("ullage status: error %v; want no error, and the settings next to the log level:\n%s", err, out)
			}
			if !strings.Contains(side.Stderr(), c.want) {
				t.Errorf("the log lacks %q:\n%s", c.want, side.Stderr())
			}
			if n, err := side.Metric("ullage_jvm_user_differs"); err != nil || n != 1 {
				t.Errorf("ullage_jvm_user_differs is %v, error %v; want 1 and no error", n, err)
			}
		})
	}
}

// A sidecar that runs as the user of the JVM reports nothing about users.
func TestSidecarOfTheSameUserSaysNothingOfUsers(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "dest"))
	if err := os.WriteFile(filepath.Join(r.source, "gc-1.log"), []byte("[1.000s][info][gc] one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.persists(perSecond)
	_, body, err := r.side.Get("/status")
	if err != nil || strings.Contains(body, "jvmUser") || r.metric("ullage_jvm_user_differs") != 0 {
		t.Errorf("error %v; want no error, no jvmUser in /status and ullage_jvm_user_differs 0:\n%s", err, body)
	}
}

// Whatever modes the JVM's user sets on its files, the sidecar does not conclude that the JVM runs as
// another user.
func TestAModeIsNotTakenForAnotherUser(t *testing.T) {
	needRoot(t)
	const ours = 65532
	source, dest := lab.Tmpfs(t, "16m"), t.TempDir()
	for dir, mode := range map[string]os.FileMode{source: 0o777, dest: 0o777, filepath.Dir(dest): 0o755} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]os.FileMode{"gc-1.log": 0o444, "gc-2.log": 0} {
		log := filepath.Join(source, name)
		if err := os.WriteFile(log, []byte("[1.000s][info][gc] one\n"), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(log, ours, ours); err != nil {
			t.Fatal(err)
		}
	}
	side := runAs(t, ours, "run", "--source", source, "--dest", dest, "--listen", "127.0.0.1:0")
	if _, err := side.Addr(patience); err != nil {
		t.Fatal(err)
	}
	lab.Eventually(t, patience, "both files are reported", func() bool {
		return strings.Contains(side.Stderr(), "no permission to punch holes in a source file") && strings.Contains(side.Stderr(), "source entry is not followed")
	})
	if strings.Contains(side.Stderr(), "the JVM runs as") {
		t.Errorf("the log names another user, want no \"the JVM runs as\" in it:\n%s", side.Stderr())
	}
	_, body, err := side.Get("/status")
	if n, merr := side.Metric("ullage_jvm_user_differs"); err != nil || merr != nil || strings.Contains(body, "jvmUser") || n != 0 {
		t.Errorf("ullage_jvm_user_differs is %v (errors %v, %v); want 0, no error and no jvmUser in /status:\n%s", n, merr, err, body)
	}
}
