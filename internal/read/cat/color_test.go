package cat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudoterminal that does not change any bytes. It returns the user's end
// and the program's end.
func terminal(t *testing.T) (user, screen *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { user.Close() })
	if err := unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	term, err := unix.IoctlGetTermios(int(screen.Fd()), unix.TCGETS)
	if err == nil {
		term.Oflag &^= unix.OPOST
		err = unix.IoctlSetTermios(int(screen.Fd()), unix.TCSETS, term)
	}
	if err != nil {
		t.Fatal(err)
	}
	return user, screen
}

// Levels have colors only on a terminal, and escape sequences in the log never take effect.
func TestColorsOfLevels(t *testing.T) {
	const text = "[0.1s][info][gc] info\n[0.2s][error][gc] \x1b[2J\n further \xc3\n[0.3s][warning][gc] warning\n[0.4s][debug][gc] debug\n"
	path := filepath.Join(t.TempDir(), "gc.log")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cfg  Config
		want string
	}{
		"colored": {Config{Color: true}, "[0.1s][info][gc] info\n\x1b[31m[0.2s][error][gc] \\x1b[2J\x1b[0m\n\x1b[31m further \\xc3\x1b[0m\n" +
			"\x1b[33m[0.3s][warning][gc] warning\x1b[0m\n\x1b[2m[0.4s][debug][gc] debug\x1b[0m\n"},
		"plain": {Config{}, "[0.1s][info][gc] info\n[0.2s][error][gc] \\x1b[2J\n further \\xc3\n[0.3s][warning][gc] warning\n[0.4s][debug][gc] debug\n"},
		"JSON":  {Config{Color: true, JSON: true, Tail: 1}, `{"stream":"gc.log","run":1,"level":"debug","tags":["gc"],"uptime":0.4,"text":"debug"}` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			user, screen := terminal(t)
			p := New(c.cfg, screen, os.Stderr)
			if err := errors.Join(append(p.Find([]string{path}), p.Run(context.Background()))...); err != nil || p.Failed() {
				t.Fatal(err)
			}
			got := make([]byte, 4096)
			n, err := user.Read(got)
			if err != nil || string(got[:n]) != c.want {
				t.Errorf("the terminal got %q, want %q (%v)", got[:n], c.want, err)
			}
		})
	}
}
