package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

const testUsage = `prog does something.

Usage:
  prog run      run it
  prog fail     fail it
  prog levels   levels it
  prog version  version it
  prog help     print this text; 'help run' is 'run --help'

Exit status: 0.
`

func dispatchTest(ctx context.Context, args []string, e Env) int {
	show := func(name string, code int) Command {
		return Command{Name: name, Summary: name + " it", Run: func(_ context.Context, args []string, e Env) int {
			fmt.Fprintf(e.Stdout, "%s %q\n", name, args)
			return code
		}}
	}
	return Program{About: "prog does something.\n", More: "Exit status: 0.\n",
		Commands: []Command{show("run", OK), show("fail", Failure), show("levels", OK), show("version", OK)}}.Run(ctx, args, e)
}

func TestDispatch(t *testing.T) {
	unknown := func(name, question string) string {
		return fmt.Sprintf("prog: unknown command %q%s\nrun 'prog help' for a list\n", name, question)
	}
	const meant = `; did you mean "run"?`
	for _, c := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"", Usage, "", testUsage},
		{"run", OK, "run []\n", ""},
		{"run --fast help", OK, "run [\"--fast\" \"help\"]\n", ""},
		{"run --help", OK, "run [\"--help\"]\n", ""},
		{"fail", Failure, "fail []\n", ""},
		{"version --json", OK, "version [\"--json\"]\n", ""},
		{"--version --json", OK, "version [\"--json\"]\n", ""},
		{"-v", OK, "version []\n", ""},
		{"-V --json", OK, "version [\"--json\"]\n", ""},
		{"help", OK, testUsage, ""},
		{"-h", OK, testUsage, ""},
		{"-help", OK, testUsage, ""},
		{"--help", OK, testUsage, ""},
		{"help help", OK, testUsage, ""},
		{"help --help help", OK, testUsage, ""},
		{"--help run", OK, "run [\"--help\"]\n", ""},
		{"help run", OK, "run [\"--help\"]\n", ""},
		{"help run more", OK, "run [\"--help\"]\n", ""},
		{"help --version", OK, "version [\"--help\"]\n", ""},
		{"log set --for 1m", OK, "levels [\"set\" \"--for\" \"1m\"]\n", ""},
		{"help log", OK, "levels [\"--help\"]\n", ""},
		{"cat", Usage, "", unknown("cat", "")}, // this program has no command logs
		{"runs", Usage, "", unknown("runs", meant)},
		{"--run", Usage, "", unknown("--run", meant)},
		{"ship", Usage, "", unknown("ship", "")},
		{"help runs", Usage, "", unknown("runs", meant)},
		{"\x1b[2J run", Usage, "", unknown("\x1b[2J", "")},
	} {
		var stdout, stderr bytes.Buffer
		e := Env{Program: "prog", Stdout: &stdout, Stderr: &stderr}
		code := dispatchTest(t.Context(), strings.Fields(c.args), e)
		if code != c.code || stdout.String() != c.stdout || stderr.String() != c.stderr {
			t.Errorf("%q: exit %d, stdout %q, stderr %q; want %d, %q, %q", c.args, code, &stdout, &stderr, c.code, c.stdout, c.stderr)
		}
	}
}

// full is a stdout with no room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestHelpThatCannotBePrintedFails(t *testing.T) {
	var stderr bytes.Buffer
	code := dispatchTest(t.Context(), []string{"--help"}, Env{Program: "prog", Stdout: full{}, Stderr: &stderr})
	if code != Failure || stderr.String() != "prog help: print: no space left on device\n" {
		t.Errorf(`exit %d, stderr %q; want %d, "prog help: print: no space left on device\n"`, code, &stderr, Failure)
	}
}

// asMain turns the test's binary into a program that, after a signal, drains until its stdin ends.
const asMain = "ULLAGE_TEST_MAIN"

// asProgram turns the test's binary into the program that completed returns.
const asProgram = "ULLAGE_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		Main("prog", func(ctx context.Context, args []string, e Env) int {
			fmt.Fprintln(e.Stdout, e.Program, args)
			<-ctx.Done()
			fmt.Fprintln(e.Stdout, "draining")
			_, _ = io.Copy(io.Discard, e.Stdin)
			return 7
		})
	}
	if os.Getenv(asProgram) != "" {
		Main("prog", completed().Run)
	}
	os.Exit(m.Run())
}

// draining starts the program and sends it a first signal.
func draining(t *testing.T, first os.Signal) (p *exec.Cmd, stdin io.Closer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
	p = exec.CommandContext(ctx, os.Args[0], "a", "b")
	t.Cleanup(func() { cancel(); _ = p.Wait() })
	p.Env = append(os.Environ(), asMain+"=1", "GORACE=atexit_sleep_ms=0")
	p.Stderr = os.Stderr
	stdin, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(stdout)
	for _, want := range []string{"prog [a b]", "draining"} {
		if !said.Scan() || said.Text() != want {
			t.Fatalf("the program printed %q, want %q", said.Text(), want)
		}
		if want != "draining" {
			if err := p.Process.Signal(first); err != nil {
				t.Fatal(err)
			}
		}
	}
	return p, stdin
}

func TestMoreSIGTERMsDoNotEndADrain(t *testing.T) {
	t.Parallel()
	for _, first := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		p, stdin := draining(t, first)
		for range 20 {
			if err := p.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Millisecond)
		}
		if err := stdin.Close(); err != nil {
			t.Fatal(err)
		}
		if _ = p.Wait(); p.ProcessState.ExitCode() != 7 {
			t.Errorf("after %s: %s, want exit code 7", first, p.ProcessState)
		}
	}
}

func TestASecondCtrlCKills(t *testing.T) {
	t.Parallel()
	if signal.Ignored(os.Interrupt) { // as in a background job of a shell; the programs would then ignore it, too
		handled := make(chan os.Signal, 1) // children begin with the default action for a signal that is handled here
		signal.Notify(handled, os.Interrupt)
		t.Cleanup(func() { signal.Stop(handled) })
	}
	for _, first := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		p, _ := draining(t, first)
		// The program may print that it drains a moment before a second signal can kill it.
		ended, work := make(chan struct{}), sync.WaitGroup{}
		work.Go(func() {
			for {
				select {
				case <-ended:
					return
				case <-time.After(5 * time.Millisecond):
					_ = p.Process.Signal(os.Interrupt) // fails once it has ended
				}
			}
		})
		_ = p.Wait()
		close(ended)
		work.Wait()
		if s := p.ProcessState.Sys().(syscall.WaitStatus); !s.Signaled() || s.Signal() != syscall.SIGINT {
			t.Errorf("after %s: %s, want the end by SIGINT", first, p.ProcessState)
		}
	}
}
