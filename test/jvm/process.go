package jvm

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// Decorations are the decorators of outputs that are compared. They include the thread, because
// only the lines of one thread have the same order in two outputs.
const Decorations = "time,uptime,tid,level,tags"

// Output is one file output of -Xlog.
type Output struct {
	Selection   string // "gc*=debug"
	File        string
	Decorations string // empty: Decorations
	Options     string // empty: "filecount=0"
}

// Flag returns the output as a flag for the command line.
func (o Output) Flag() string {
	if o.Decorations == "" {
		o.Decorations = Decorations
	}
	if o.Options == "" {
		o.Options = "filecount=0"
	}
	return "-Xlog:" + o.Selection + ":file=" + o.File + ":" + o.Decorations + ":" + o.Options
}

// Process is one running JVM. Every Process must be ended: with Wait, Kill or Terminate.
type Process struct {
	cmd  *exec.Cmd
	said bytes.Buffer // may be read once done is closed
	done chan struct{}
}

// Start runs `java` with args. The process is in its own process group, so that our Ctrl-C does not
// reach it.
func Start(jdk lab.JDK, args ...string) (*Process, error) { return StartIn("", jdk, args...) }

// StartIn is Start in a working directory, where the JVM leaves files that have no other path. If
// dir is empty, it is our own working directory.
func StartIn(dir string, jdk lab.JDK, args ...string) (*Process, error) {
	// The file in /tmp for jps is useless here, and the C2 compiler adds noise.
	args = append([]string{"-XX:-UsePerfData", "-XX:TieredStopAtLevel=1"}, args...)
	p := &Process{cmd: exec.Command(jdk.Java(), args...), done: make(chan struct{})}
	p.cmd.Dir = dir
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start JVM: %w", err)
	}
	go func() {
		_ = p.cmd.Wait() // the exit code is in ProcessState
		close(p.done)
	}()
	return p, nil
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the JVM has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Kill ends the JVM as `kill -9` does, and waits for its end.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // fails only if it has ended
	<-p.done
}

// Terminate ends the JVM as `kill` does, and waits for its end. Unlike a killed JVM, it has then written each message
// to all of its outputs.
func (p *Process) Terminate() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails only if it has ended
	<-p.done
}

// Wait waits until the program has ended. An unsuccessful end is an error.
func (p *Process) Wait(timeout time.Duration) error {
	select {
	case <-p.done:
	case <-time.After(timeout):
		p.Kill()
		return fmt.Errorf("the JVM has not ended within %s", timeout)
	}
	if p.cmd.ProcessState.Success() {
		return nil
	}
	return errors.New("the JVM failed: " + p.cmd.ProcessState.String() + "\n" + p.said.String())
}
