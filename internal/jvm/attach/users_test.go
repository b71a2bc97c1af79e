package attach

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestSocketsOfOtherUsers(t *testing.T) {
	needRoot(t)
	type who struct{ uid, gid uint32 }
	for _, c := range []struct {
		name         string
		file, server who // the socket's owner, and the user that listens on it
		client       who
		want         Kind
	}{
		{"root to anyone", who{12345, 12345}, who{12345, 12345}, who{0, 0}, ""},
		{"same user and group", who{12345, 12345}, who{12345, 12345}, who{12345, 12345}, ""},
		{"another user", who{12345, 12345}, who{12345, 12345}, who{12346, 12345}, NotPermitted},
		{"same user, another group", who{12345, 23456}, who{12345, 23456}, who{12345, 12345}, NotPermitted},
		{"a user other than the socket's owner listens", who{12345, 12345}, who{0, 0}, who{0, 0}, NotPermitted},
		{"a user other than the client listens", who{12345, 12345}, who{0, 0}, who{12345, 12345}, NotPermitted},
	} {
		t.Run(c.name, func(t *testing.T) {
			tmp := shareable(t)
			path := filepath.Join(tmp, ".java_pid1")
			if c.server == (who{}) {
				replying(listReply)(t, tmp)
				must(t, os.Chown(path, int(c.file.uid), int(c.file.gid)))
			} else {
				p := start(t, as(c.server.uid, c.server.gid), tmp)
				put(t, filepath.Join(tmp, fmt.Sprintf(".attach_pid%d", p.Process.Pid)), "")
				must(t, os.Chown(filepath.Join(tmp, fmt.Sprintf(".attach_pid%d", p.Process.Pid)), int(c.server.uid), int(c.server.gid)))
				must(t, p.Process.Signal(unix.SIGQUIT))
				awaitFile(t, "/tmp/"+socketName(p.Process.Pid))
				must(t, os.Rename("/tmp/"+socketName(p.Process.Pid), path))
			}
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = []string{roleVar + "=client", "TMP=" + tmp, raceExit}
			cmd.SysProcAttr = as(c.client.uid, c.client.gid)
			out, err := cmd.CombinedOutput()
			kind, text, _ := strings.Cut(string(out), " ")
			if err != nil || Kind(kind) != c.want {
				t.Fatalf("the client ended with %v and kind %q, want %q: %s", err, kind, c.want, text)
			}
			if c.want == NotPermitted && !strings.Contains(text, fmt.Sprint(c.server.uid)) {
				t.Errorf("the error does not name the user that listens: %s", text)
			}
		})
	}
}

func as(uid, gid uint32) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid}}
}

func awaitFile(t *testing.T, path string) {
	t.Helper()
	for range 500 {
		if _, err := os.Lstat(path); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the socket %s does not appear", path)
}
