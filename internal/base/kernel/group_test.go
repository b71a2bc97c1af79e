package kernel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// put writes files below a root. The argument files has the name and the text of each file, in turn.
func put(t *testing.T, root string, files ...string) {
	t.Helper()
	for i := 0; i+1 < len(files); i += 2 {
		path := filepath.Join(root, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheMemoryOfAControlGroup(t *testing.T) {
	v2 := func(dir string) []string {
		return []string{dir + "/memory.events", "low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\noom_group_kill 0\n", dir + "/memory.max", "1048576\n", dir + "/memory.peak", "1048570\n"}
	}
	v1 := func(dir string) []string {
		return []string{dir + "/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", dir + "/memory.limit_in_bytes", "1048576\n",
			dir + "/memory.max_usage_in_bytes", "1048570\n", dir + "/memory.failcnt", "3\n"}
	}
	const hybrid = "9:name=systemd:/\n4:cpu,memory:/kubepods/a\n0::/\n"
	known := Memory{Limit: 1048576, Peak: 1048570, Kills: 2, Hits: 3}
	for name, c := range map[string]struct {
		files []string
		want  Memory
		seen  bool
	}{
		"version 2, by its path":         {append(v2("sys/fs/cgroup/a"), "proc/7/cgroup", "0::/a\n"), known, true},
		"version 2, in its container":    {append(v2("proc/7/root/sys/fs/cgroup"), "proc/7/cgroup", "0::/../other\n"), known, true},
		"version 1, by its path":         {append(v1("sys/fs/cgroup/memory/kubepods/a"), "proc/7/cgroup", hybrid), known, true},
		"version 1, in its container":    {append(v1("proc/7/root/sys/fs/cgroup/memory"), "proc/7/cgroup", hybrid), known, true},
		"an older kernel, without peaks": {append(v2("sys/fs/cgroup/a")[:4], "proc/7/cgroup", "0::/a\n"), Memory{Limit: 1048576, Kills: 2, Hits: 3}, true},
		"no limit": {[]string{"proc/7/cgroup", "0::/a\n", "sys/fs/cgroup/a/memory.events", "oom 0\noom_kill 0\n", "sys/fs/cgroup/a/memory.max", "max\n"},
			Memory{}, true},
		"no limit in version 1": {append(v1("sys/fs/cgroup/memory/kubepods/a"), "proc/7/cgroup", hybrid,
			"sys/fs/cgroup/memory/kubepods/a/memory.limit_in_bytes", "9223372036854771712\n"), Memory{Peak: 1048570, Kills: 2, Hits: 3}, true},
		"not visible": {[]string{"proc/7/cgroup", "0::/../other\n"}, Memory{}, false},
		"nonsense":    {[]string{"proc/7/cgroup", "::\n0::a\n\n", "proc/7/root/sys/fs/cgroup/memory.events", "oom_kill many\n"}, Memory{}, false},
		"no process":  {nil, Memory{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			put(t, root, c.files...)
			g := groupOf(root, "7")
			if g == nil {
				if c.seen {
					t.Error("the group is not found")
				}
				return
			}
			defer g.Close()
			if m, ok := g.Memory(); !ok || !c.seen || m != c.want {
				t.Errorf("Memory returned %+v, %v; want %+v, %v", m, ok, c.want, c.seen)
			}
		})
	}
}

// A container and its cgroup are removed soon after the last process has ended.
func TestAControlGroupThatIsGoneHasNoCounters(t *testing.T) {
	root := t.TempDir()
	put(t, root, "proc/7/cgroup", "0::/a\n", "sys/fs/cgroup/a/memory.events", "oom_kill 1\n")
	g := groupOf(root, "7")
	if g == nil {
		t.Fatal("the group is not found")
	}
	defer g.Close()
	if err := os.RemoveAll(filepath.Join(root, "sys/fs/cgroup/a")); err != nil {
		t.Fatal(err)
	}
	if m, ok := g.Memory(); ok {
		t.Errorf("a removed control group has %+v, want no counters", m)
	}
}

// An application may put anything in place of the files of its container's cgroup, and a read must not wait for it.
func TestAFileThatIsNoneIsNotWaitedFor(t *testing.T) {
	root := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(root, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, root, "long", strings.Repeat("x", 3*maxFile))
	for name, want := range map[string]int{"fifo": 0, ".": 0, "missing": 0, "long": maxFile} {
		if got := ReadSmall(unix.AT_FDCWD, filepath.Join(root, name)); len(got) != want {
			t.Errorf("%s: %d bytes, want %d", name, len(got), want)
		}
	}
}
