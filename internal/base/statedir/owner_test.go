package statedir

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/test/lab"
)

// claimEnv makes the test's binary a process that claims a source.
const claimEnv = "STATEDIR_TEST_CLAIM"

func TestMain(m *testing.M) {
	if source := os.Getenv(claimEnv); source != "" {
		if err := claimAndHold(source); err != nil {
			fmt.Println(err)
		}
		return
	}
	os.Exit(m.Run())
}

// refusedLine is what a process writes to stderr whose first claim was refused.
const refusedLine = "refused"

// claimAndHold repeats its claim until it owns the source, prints a line that says so, and then holds the source until
// stdin ends. It gives no sign of life. If the first claim is refused, it writes refusedLine to stderr.
func claimAndHold(source string) error {
	root, err := os.Open(source)
	if err != nil {
		return err
	}
	dir, err := Open(root)
	if err != nil {
		return err
	}
	var c Claimant
	o, err := c.Claim(dir)
	if errors.Is(err, ErrOwned) {
		fmt.Fprintln(os.Stderr, refusedLine)
	}
	for ; errors.Is(err, ErrOwned); o, err = c.Claim(dir) {
		time.Sleep(time.Millisecond)
	}
	if err != nil {
		return err
	}
	fmt.Printf("owner %q %v\n", o.Ousted, o.Unlocked)
	_, err = io.Copy(io.Discard, os.Stdin)
	o.Close()
	return err
}

// other is another process that claims a source.
type other struct {
	*exec.Cmd
	stdin  io.Closer
	said   *bufio.Reader
	stderr *bufio.Reader
}

func startOther(t *testing.T, source string) *other {
	t.Helper()
	return startProgram(t, "/proc/self/exe", source)
}

// startProgram is startOther with another executable.
func startProgram(t *testing.T, path, source string) *other {
	t.Helper()
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), claimEnv+"="+source)
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	stderr, err3 := cmd.StderrPipe()
	if err := errors.Join(err1, err2, err3, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &other{cmd, stdin, bufio.NewReader(stdout), bufio.NewReader(stderr)}
}

// owns waits until the process owns the source. It returns whose lock the process ignored, and why.
func (o *other) owns(t *testing.T) (ousted string) {
	t.Helper()
	line, err := o.said.ReadString('\n')
	if _, scanned := fmt.Sscanf(line, "owner %q <nil>\n", &ousted); err != nil || scanned != nil {
		t.Fatalf("the process printed %q, error %v; want that it is the owner, and no error", line, err)
	}
	return ousted
}

func (o *other) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := o.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// stateDir returns the state directory of a source.
func stateDir(t *testing.T, source string) *os.File {
	t.Helper()
	root, err := os.Open(source)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	dir, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir
}

// becomesOwner claims until this process is the owner.
func becomesOwner(t *testing.T, c *Claimant, dir *os.File) *Owner {
	t.Helper()
	for deadline := time.Now().Add(lab.Patience); ; time.Sleep(time.Millisecond) {
		o, err := c.Claim(dir)
		if err == nil {
			return o
		}
		if !errors.Is(err, ErrOwned) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func TestTheNextClaimantWaitsForTheOwnersEnd(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, o *other){
		"it ends":          func(_ *testing.T, o *other) { o.stdin.Close() },
		"it is killed":     func(t *testing.T, o *other) { o.signal(t, syscall.SIGKILL) },
		"stopped, killed":  func(t *testing.T, o *other) { o.signal(t, syscall.SIGSTOP); o.signal(t, syscall.SIGKILL) },
		"it is terminated": func(t *testing.T, o *other) { o.signal(t, syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			source := t.TempDir()
			first := startOther(t, source)
			first.owns(t)
			dir := stateDir(t, source)
			var c Claimant
			for range 3 {
				if _, err := c.Claim(dir); !errors.Is(err, ErrOwned) || !strings.HasSuffix(err.Error(), fmt.Sprint("process ", first.Process.Pid)) {
					t.Fatalf("the second claim: %v, want %v, with process %d at its end", err, ErrOwned, first.Process.Pid)
				}
			}
			end(t, first)
			o := becomesOwner(t, &c, dir)
			defer o.Close()
			if o.Unlocked != nil || !o.Named() {
				t.Errorf("the new owner is %+v, want Unlocked nil and a named file", o)
			}
		})
	}
}

// Any process that holds the lock, even one of the application, delays a sidecar for ownerPatience. After that, the
// sidecar ignores the lock and becomes the owner, and the next claimant waits for the sidecar.
func TestALockWithoutASignOfLifeDelaysASidecarOnlyBriefly(t *testing.T) {
	source := t.TempDir()
	mute := startOther(t, source)
	mute.owns(t)
	dir := stateDir(t, source)
	var c Claimant
	for _, silent := range []time.Duration{0, 0, ownerPatience / 2} { // as if this much time had passed
		c.silent = silent
		if _, err := c.Claim(dir); !errors.Is(err, ErrOwned) {
			t.Fatalf("after %s of silence, want ErrOwned; got %v", silent, err)
		}
	}
	path := filepath.Join(dir.Name(), ownerName)
	now := time.Now().Add(-time.Hour) // the clocks of the two processes need not agree
	if err := os.Chtimes(path, now, now); err != nil {
		t.Fatal(err)
	}
	c.silent = ownerPatience
	if _, err := c.Claim(dir); !errors.Is(err, ErrOwned) {
		t.Fatalf("after a sign of life: %v, want ErrOwned", err)
	}
	c.silent = ownerPatience
	o, err := c.Claim(dir)
	if err != nil || !strings.Contains(o.Ousted, "no sign of life") {
		t.Fatalf(`the owner is %+v, error %v, want "no sign of life" in it`, o, err)
	}
	defer o.Close()
	third := startOther(t, source)
	if line, err := third.stderr.ReadString('\n'); line != refusedLine+"\n" {
		t.Fatalf("the third process wrote %q, error %v; want %q, because its first claim is refused", line, err, refusedLine)
	}
	mute.signal(t, syscall.SIGKILL)
	_ = mute.Wait()
	if !o.Named() {
		t.Error("the owner's file has lost its name, want the third process to wait")
	}
	o.Close()
	// The third process may have seen the first lock as its holder died, and the second lock while it was free.
	if got, dying := third.owns(t), fmt.Sprintf("process %d is dying", mute.Process.Pid); got != "" && got != dying {
		t.Errorf("the third process ousted %q, want \"\" or %q", got, dying)
	}
}

// copied returns a copy of this program under the given name.
func copied(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("/proc/self/exe")
	path := filepath.Join(t.TempDir(), name)
	if err := errors.Join(err, os.WriteFile(path, data, 0o700)); err != nil {
		t.Fatal(err)
	}
	return path
}

// The application locks the file and gives the same signs of life as a sidecar.
func TestALockOfAnotherProgramDoesNotKeepASidecarOut(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		delayed bool
	}{{"java", false}, {filepath.Base(own), true}} {
		t.Run(c.name, func(t *testing.T) {
			source := t.TempDir()
			holder := startProgram(t, copied(t, c.name), source)
			holder.owns(t)
			dir := stateDir(t, source)
			path := filepath.Join(dir.Name(), ownerName)
			var claimant Claimant
			claim := func() (*Owner, error) {
				now := time.Now()
				if err := os.Chtimes(path, now, now); err != nil {
					t.Fatal(err)
				}
				return claimant.Claim(dir)
			}
			for range 3 {
				if !c.delayed {
					break
				}
				if _, err := claim(); !errors.Is(err, ErrOwned) {
					t.Fatalf("a lock that may be another sidecar's: %v, want ErrOwned", err)
				}
				claimant.waited = strangerPatience - 10*time.Second // as if this much time had passed
			}
			if c.delayed {
				claimant.waited = strangerPatience
			}
			o, err := claim()
			if err != nil || !strings.Contains(o.Ousted, "a sidecar") {
				t.Fatalf(`the owner is %+v, error %v, want "a sidecar" in it`, o, err)
			}
			o.Close()
		})
	}
}

func TestTheNextOwnerKnowsHowTheFormerOneEnded(t *testing.T) {
	source := t.TempDir()
	dir := stateDir(t, source)
	for _, want := range []Former{NoFormer, FormerStopped, FormerStopped} {
		o := becomesOwner(t, new(Claimant), dir)
		if o.Former != want {
			t.Errorf("the former owner is %q, want %q", o.Former, want)
		}
		o.Close()
	}
	killed := startOther(t, source)
	killed.owns(t)
	killed.signal(t, syscall.SIGKILL)
	o := becomesOwner(t, new(Claimant), dir)
	defer o.Close()
	if o.Former != FormerKilled {
		t.Errorf("after a kill, the former owner is %q, want %q", o.Former, FormerKilled)
	}
}

func TestAStoppedOwnerIsNotOusted(t *testing.T) {
	source := t.TempDir()
	first := startOther(t, source)
	first.owns(t)
	first.signal(t, syscall.SIGSTOP)
	for kernel.StateOf(first.Process.Pid) != kernel.Stopped {
		time.Sleep(time.Millisecond)
	}
	dir := stateDir(t, source)
	var c Claimant
	for range 3 {
		if _, err := c.Claim(dir); !errors.Is(err, ErrOwned) {
			t.Fatal(err)
		}
		c.silent = ownerPatience
	}
}

func TestBeatIsASignOfLife(t *testing.T) {
	dir := stateDir(t, t.TempDir())
	o := becomesOwner(t, new(Claimant), dir)
	defer o.Close()
	path := filepath.Join(dir.Name(), ownerName)
	long := time.Unix(1, 0)
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	o.Beat()
	if info, err := os.Stat(path); err != nil || time.Since(info.ModTime()) > time.Minute {
		t.Errorf("the owner's file is %v, error %v; want one that was modified within the last minute", info, err)
	}
	if !o.Named() {
		t.Error("after a beat, the owner's file has lost its name, want it named")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	o.Beat()
	if o.Named() {
		t.Error("the owner's file was removed, but Named is true, want false")
	}
}

// The application can put anything in place of the file.
func TestWhatHasTheNameOfTheOwnersFileGoes(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"a full directory":      func(path string) error { return os.MkdirAll(path+"/full", 0o700) },
		"a link":                func(path string) error { return os.Symlink("/dev/zero", path) },
		"a FIFO":                func(path string) error { return unix.Mkfifo(path, 0o600) },
		"a file with two names": func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Link(path, path+"2")) },
		"a file":                func(path string) error { return os.WriteFile(path, []byte("text"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := stateDir(t, t.TempDir())
			if err := put(filepath.Join(dir.Name(), ownerName)); err != nil {
				t.Fatal(err)
			}
			o, err := new(Claimant).Claim(dir)
			if err != nil || o.Unlocked != nil || !o.Named() {
				t.Fatalf("the owner is %+v, error %v; want Unlocked nil, a named file and no error", o, err)
			}
			o.Close()
		})
	}
}

func TestOfManyClaimantsOneIsTheOwner(t *testing.T) {
	source := t.TempDir()
	owner := make(chan *other, 8)
	for range cap(owner) {
		o := startOther(t, source)
		go func() {
			// The kernel may take some time to end a killed owner.
			if line, err := o.said.ReadString('\n'); err != nil || line != "owner \"\" <nil>\n" && !strings.HasSuffix(line, " is dying\" <nil>\n") {
				t.Errorf("the process printed %q, error %v; want no ousted owner, or a dying process", line, err)
			}
			owner <- o
		}()
	}
	for range cap(owner) {
		o := <-owner
		select {
		case <-owner:
			t.Fatal("two processes own the source, want one")
		case <-time.After(5 * time.Millisecond): // others have claimed by then
		}
		o.signal(t, syscall.SIGKILL)
	}
}
