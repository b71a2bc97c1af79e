package attach

import (
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/settings"
)

func pids(jvms []JVM) (pids []int) {
	for _, j := range jvms {
		pids = append(pids, j.PID)
	}
	return pids
}

func TestOnlyWellFormedNamesAreSockets(t *testing.T) {
	tmp := t.TempDir()
	sockets(t, tmp, ".java_pid10", ".java_pid9", ".java_pid4194304",
		".java_pid", ".java_pid0", ".java_pid01", ".java_pid-1", ".java_pid+1", ".java_pid1.tmp", ".java_pid1 ", ".java_pid4194305",
		".java_pid99999999999999999999", ".java_pid１", "java_pid1", ".java_pid1\n", ".attach_pid1", "x.java_pid1")
	c := New(testConfig(tmp), tmp)
	jvms, problems := c.Find(t.Context())
	if diff := cmp.Diff([]int{9, 10, 4194304}, pids(jvms)); diff != "" || len(problems) > 0 {
		t.Errorf("(-want +got):\n%s%v", diff, problems)
	}
	for _, j := range jvms {
		if j.String() != fmt.Sprintf("pid %d", j.PID) || !c.Alive(j) {
			t.Errorf(`found %v, alive: %t; want "pid %d", which is alive`, j, c.Alive(j), j.PID)
		}
	}
	c.cfg.PID = 10
	if jvms, _ := c.Find(t.Context()); len(jvms) != 1 || jvms[0].PID != 10 {
		t.Errorf("a search for process 10 found %v, want only the JVM with this process ID", jvms)
	}
	c.cfg.PID = 11
	if jvms, problems := c.Find(t.Context()); len(jvms) != 0 || len(problems) != 1 || KindOf(problems[0]) != NoJVM {
		t.Errorf("a search for process 11 found %v, with the problems %v; want no JVM and 1 problem of kind %q", jvms, problems, NoJVM)
	}
	c.cfg.Mode = Off
	if jvms, problems := c.Find(t.Context()); len(jvms)+len(problems) != 0 {
		t.Errorf("a search in mode off found %v, with the problems %v; want no JVM and no problem", jvms, problems)
	}
}

// birthTick is longer than a tick of the clock for the birth times of files. A tick is at most 10 ms (CONFIG_HZ=100).
// Two files created this far apart have different birth times.
const birthTick = 20 * time.Millisecond

func TestNewestSocketsAreFoundAmongMany(t *testing.T) {
	tmp := t.TempDir()
	for i := range 20 {
		sockets(t, tmp, socketName(1000-i))
		time.Sleep(birthTick)
	}
	jvms, problems := New(testConfig(tmp), tmp).Find(t.Context())
	var want []int
	for pid := 981; pid < 981+maxFound; pid++ {
		want = append(want, pid)
	}
	if diff := cmp.Diff(want, pids(jvms)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), "4 are not changed") {
		t.Errorf(`the problems are %v, want one, with "4 are not changed" in it`, problems)
	}
}

func TestDirectoryWithTooManyEntries(t *testing.T) {
	tmp := t.TempDir()
	sockets(t, tmp, socketName(1))
	for i := range 20_000 {
		fd, err := unix.Open(filepath.Join(tmp, socketName(2+i)), unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
		must(t, err)
		unix.Close(fd)
	}
	jvms, problems := New(testConfig(tmp), tmp).Find(t.Context())
	if len(jvms) != 1 || jvms[0].PID != 1 {
		t.Errorf("found %v, want process 1", jvms)
	}
	if len(problems) != maxFound || !strings.Contains(problems[0].Error(), "more than 10000 entries") {
		t.Errorf("there are %d problems, the first is %v; want %d, the first about more than 10000 entries", len(problems), problems[0], maxFound)
	}
}

func TestSocketThatIsReplacedIsAnotherRun(t *testing.T) {
	tmp := t.TempDir()
	replying(listReply)(t, tmp)
	c := New(testConfig(tmp), tmp)
	j := one(t, c)
	if again := one(t, New(testConfig(tmp), tmp)); again != j {
		t.Errorf("another client sees %+v, want %+v", again, j)
	}
	must(t, os.Remove(filepath.Join(tmp, ".java_pid1")))
	if c.Alive(j) {
		t.Error("the JVM is reported as alive without its socket")
	}
	if _, err := c.Run(t.Context(), j, List()); KindOf(err) != NoJVM {
		t.Errorf("a command without the socket: got the error %v, want one of kind %q", err, NoJVM)
	}
	replying(listReply)(t, tmp) // most file systems reuse the inode number
	if next := one(t, c); next.ID == j.ID || c.Alive(j) {
		t.Errorf("the next run has ID %q, and the first had %q; the first is alive: %v; want another ID and false", next.ID, j.ID, c.Alive(j))
	}
	if _, err := c.Run(t.Context(), j, List()); KindOf(err) != NoJVM {
		t.Errorf("a command for the first run: got the error %v, want one of kind %q, not an answer of the next run", err, NoJVM)
	}
}

func TestHowAJVMEndedIsSeenByItsSocket(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(t *testing.T, tmp string, l *net.UnixListener)
		how  string
		gone bool
	}{
		"it runs": {func(*testing.T, string, *net.UnixListener) {}, "", false},
		"it exits": {func(t *testing.T, tmp string, _ *net.UnixListener) {
			must(t, os.Remove(filepath.Join(tmp, socketName(1))))
		}, Exited, true},
		"a kill": {func(t *testing.T, _ string, l *net.UnixListener) { must(t, l.Close()) }, Killed, true},
		"a new one": {func(t *testing.T, tmp string, _ *net.UnixListener) {
			must(t, os.Remove(filepath.Join(tmp, socketName(1))))
			listen(t, tmp, 1)
		}, "", true},
		"no accept": {func(t *testing.T, tmp string, l *net.UnixListener) { fill(t, l, filepath.Join(tmp, socketName(1))) }, "", false},
		"no directory": {func(t *testing.T, tmp string, _ *net.UnixListener) {
			must(t, os.Rename(tmp, tmp+"2"))
			must(t, os.WriteFile(tmp, nil, 0o600))
		}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			tmp := filepath.Join(t.TempDir(), "tmp")
			must(t, os.Mkdir(tmp, 0o700))
			l := listen(t, tmp, 1)
			client := New(testConfig(tmp), tmp)
			j := one(t, client)
			c.end(t, tmp, l)
			if how, gone := client.Witness(j).Gone(); gone != c.gone || gone && how != c.how {
				t.Errorf("got %q, gone %v; want %q, %v", how, gone, c.how, c.gone)
			}
		})
	}
}

func TestMissingDirectory(t *testing.T) {
	cfg := testConfig(filepath.Join(t.TempDir(), "missing"))
	if _, problems := New(cfg, "").Find(t.Context()); len(problems) != 1 || KindOf(problems[0]) != OtherError {
		t.Errorf("the problems are %v, want 1 of kind %q", problems, OtherError)
	}
	cfg.Mode = Auto
	if _, problems := find(t, New(cfg, "")); len(problems) != 0 {
		t.Errorf("in mode auto, the problems are %v, want none", problems)
	}
}

func TestShipsOfASocketGoesByThePath(t *testing.T) {
	real := filepath.Join(t.TempDir(), "logs")
	must(t, os.Mkdir(real, 0o777))
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(real, link))
	for _, c := range []struct {
		source, name string
		want         bool
	}{
		{real, "file=" + real + "/gc-%p.log", true},
		{real, "file=" + real + "//x/../gc.log", true},
		{real, "file=" + real + "/x/gc.log", false},
		{real, "file=" + real, false},
		{real, "file=" + link + "/gc.log", false},
		{link, "file=" + link + "/gc.log", true},
		{link, "file=" + real + "/gc.log", true},
		{real, "file=gc.log", false},
		{real, "file=logs/gc.log", false},
		{real, "file=", false},
		{real, "stdout", false},
		{"/", "file=/gc.log", true},
	} {
		if got := New(testConfig("/tmp"), c.source).Ships(JVM{PID: 1}, Output{Name: c.name}); got != c.want {
			t.Errorf("source %s, output %s: shipped is %v, want %v", c.source, c.name, got, c.want)
		}
	}
}

func TestAttachDisabled(t *testing.T) {
	const on, off = "-XX:+DisableAttachMechanism", "-XX:-DisableAttachMechanism"
	for _, c := range []struct {
		cmdline, environ string
		want             bool
	}{
		{"java\x00Main\x00", "", false},
		{"java\x00" + on + "\x00Main\x00", "", true},
		{"java\x00" + on + "\x00" + off + "\x00Main\x00", "", false},
		{"java\x00Main\x00", "A=b\x00JAVA_TOOL_OPTIONS=-Xmx1g " + on + "\x00", true},
		{"java\x00Main\x00", "JDK_JAVA_OPTIONS='" + on + "'\x00", true},
		{"java\x00" + off + "\x00Main\x00", "JAVA_TOOL_OPTIONS=" + on + "\x00", false},
		{"java\x00" + off + "\x00Main\x00", "_JAVA_OPTIONS=" + on + "\x00", true},
		{"java\x00" + on + "x\x00Main\x00", "X=" + on + "\x00", false},
	} {
		if got := attachDisabled(c.cmdline, c.environ); got != c.want {
			t.Errorf("command line %q, environment %q: disabled is %v, want %v", c.cmdline, c.environ, got, c.want)
		}
	}
}

func TestParseStatus(t *testing.T) {
	const good = "Name:\tUid:\\n\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nNSpid:\t4711\t1\nThreads:\t20\nSigCgt:\t0000000000000004\n"
	s, err := parseStatus(good)
	if want := (status{uid: 2, gid: 6, pid: 1, threads: 20, catchesQuit: true}); err != nil || s != want {
		t.Errorf("the status is %+v, error %v; want %+v", s, err, want)
	}
	for _, key := range []string{"Uid", "Gid", "NSpid", "Threads", "SigCgt"} {
		if _, err := parseStatus(strings.Replace(good, "\n"+key, "\nx", 1)); err == nil {
			t.Errorf("without %s, parseStatus returned no error, want one", key)
		}
	}
	if s, _ := parseStatus(strings.Replace(good, "04\n", "fb\n", 1)); s.catchesQuit {
		t.Error("catchesQuit is true, want false: of the lowest 8 bits, only that of SIGQUIT is not set")
	}
}

func TestConfig(t *testing.T) {
	cfg := DefaultConfig()
	if bad := cfg.Validate(); len(bad) != 0 {
		t.Errorf("the defaults are bad: %v, want none", bad)
	}
	fs := flag.NewFlagSet("x", flag.ContinueOnError)
	cfg.Flags(fs)
	bad := settings.Parse(fs, []string{"--attach", "nonsense", "--jvm-tmp", "/jvm"}, func(string) (string, bool) { return "", false })
	if len(bad) != 1 || !strings.Contains(bad[0].Error(), "use auto, shared-tmp, process-namespace or off") {
		t.Errorf(`the errors are %v, want one, with "use auto, shared-tmp, process-namespace or off" in it`, bad)
	}
	if cfg.Mode != Auto || cfg.Tmp != "/jvm" {
		t.Errorf("the settings are %+v, want the mode %s and the directory /jvm", cfg, Auto)
	}
	if bad := (Config{Mode: "x", PID: -1}).Validate(); len(bad) != 4 {
		t.Errorf("the errors are %v, want 4", bad)
	}
}

func TestKinds(t *testing.T) {
	if KindOf(nil) != "" || KindOf(os.ErrClosed) != OtherError || KindOf(fmt.Errorf("x: %w", &Error{Kind: NoJVM})) != NoJVM {
		t.Errorf(`KindOf returns a wrong kind, want "" for no error, %q for a foreign error and %q for a wrapped one`, OtherError, NoJVM)
	}
	seen := map[Kind]bool{}
	for _, k := range Kinds() {
		seen[k] = true
	}
	if len(seen) != 9 {
		t.Errorf("there are %d different kinds, want 9", len(seen))
	}
}

// The application can give one socket many names.
func TestASocketWithTwoNamesIsOneJVM(t *testing.T) {
	tmp := t.TempDir()
	sockets(t, tmp, ".java_pid1")
	must(t, os.Link(filepath.Join(tmp, ".java_pid1"), filepath.Join(tmp, ".java_pid2")))
	if jvms, problems := New(testConfig(tmp), tmp).Find(t.Context()); len(jvms) != 1 || len(problems) > 0 {
		t.Errorf("found %v, with the problems %v; want one JVM and no problem", jvms, problems)
	}
}

// A large number of sockets does not hide a JVM that was found before.
func TestAKnownJVMIsNotLeftOut(t *testing.T) {
	tmp := t.TempDir()
	sockets(t, tmp, ".java_pid1")
	c := New(testConfig(tmp), tmp)
	jvms, _ := c.Find(t.Context())
	for n := range 2 * maxFound {
		sockets(t, tmp, fmt.Sprintf(".java_pid%d", n+100))
	}
	if again, _ := c.Find(t.Context(), jvms[0].ID); len(again) != maxFound || again[0] != jvms[0] {
		t.Errorf("found %d JVMs: %v; want %d, the first of them the known %v", len(again), again, maxFound, jvms[0])
	}
}
