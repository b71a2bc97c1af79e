package applog

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

// mapped is an application that logs by Log4j's MemoryMappedFile appender, which docs/application.md advises against.
type mapped struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// log lets the application log a hundred lines, numbered from n+1.
func (m *mapped) log(t *testing.T, n int) {
	t.Helper()
	if _, err := m.in.Write([]byte{'\n'}); err != nil {
		t.Fatal(err)
	}
	if said, err := m.out.ReadString('\n'); said != strconv.Itoa(n+100)+"\n" {
		t.Fatalf("the application said %q, %v; want %d", said, err, n+100)
	}
}

func startMapped(t *testing.T, source string) *mapped {
	t.Helper()
	jars, err := lab.Jars(".", t.Logf, "--release", "17")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "log4j2.xml")
	text := strings.ReplaceAll(settings(t, "testdata/log4j2-mapped.xml"), "/var/log/jvm", source)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m := &mapped{cmd: exec.Command(lab.NeedsJDKs(t)[0].Java(), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m",
		"-Dlog4j2.configurationFile="+config, "-cp", jars+":"+filepath.Join(jars, "*"), "Mapped")}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if m.in, err = m.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	m.out = bufio.NewReader(out)
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.cmd.Process.Kill() })
	return m
}

var number = regexp.MustCompile(`(?m)number (\d+)$`)

// numbers returns how often each number was persisted.
func numbers(t *testing.T, dest string) map[int]int {
	t.Helper()
	out, err := exec.Command(lab.Binary(), "logs", dest).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && bytes.Contains(exit.Stderr, []byte("nothing is persisted")) {
		return nil // not yet
	}
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]int{}
	for _, m := range number.FindAllSubmatch(out, -1) {
		n, err := strconv.Atoi(string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		found[n]++
	}
	return found
}

// TestMappedFile shows what becomes of the lines of an appender that maps its file. The sidecar warns and reads the
// lines once the application has ended in an orderly way. It never reads those of a killed application.
func TestMappedFile(t *testing.T) {
	const warning = "source file is longer than its content"
	for _, killed := range []bool{false, true} {
		t.Run("killed "+strconv.FormatBool(killed), func(t *testing.T) {
			source, dest := lab.Tmpfs(t, "64m"), t.TempDir()
			side := lab.Run(t, source, dest, "--sync-interval", "200ms")
			app := startMapped(t, source)
			app.log(t, 0)
			lab.Eventually(t, patience, "the warning", func() bool { return strings.Contains(side.Stderr(), warning) })
			app.log(t, 100)
			if killed {
				if err := app.cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				_ = app.cmd.Wait() // the error is the kill
			} else {
				_ = app.in.Close()
				if err := app.cmd.Wait(); err != nil {
					t.Fatal(err)
				}
				lab.Eventually(t, patience, "200 numbers", func() bool { return len(numbers(t, dest)) == 200 })
			}
			if err := side.Stop(patience); err != nil {
				t.Error(err)
			}
			for n, times := range numbers(t, dest) {
				if killed && n > 100 || !killed && times > 2 {
					t.Errorf("number %d is persisted %d times, the application was killed: %t; want no number above 100 if it was killed, otherwise no number more than twice", n, times, killed)
				}
			}
		})
	}
}
