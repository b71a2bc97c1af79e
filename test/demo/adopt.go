package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ullage/ullage/test/jvm"
	"github.com/ullage/ullage/test/lab"
)

// showAdopt starts a JVM without any log and lets `ullage adopt` ship a log for a time. The JVM lists the same
// outputs before and after.
func showAdopt(ctx context.Context, out io.Writer, ullage string, seconds int) error {
	jdks, err := lab.JDKs()
	if err != nil {
		return err
	}
	d := &demo{out: out, ullage: ullage, seconds: seconds, jdk: jdks[len(jdks)-1]}
	defer d.end()
	if err := d.prepare(ctx); err != nil {
		return err
	}
	// The JVM outlasts the adoption: the demo ends it.
	d.jvm, err = jvm.Start(d.jdk, "-Xmx64m", "-Xmn4m", "-XX:+UseG1GC",
		"-cp", filepath.Join(d.scratch, "classes"), "Churn", strconv.Itoa(int(time.Hour/time.Millisecond)), "250")
	if err != nil {
		return err
	}
	d.say("A JVM runs (%s, pid %d), which was started without -Xlog.", d.jdk, d.jvm.PID())
	if err := d.attachable(ctx); err != nil {
		return err
	}
	before, err := d.outputs()
	if err != nil {
		return err
	}
	d.say("jcmd %d VM.log list:\n%s", d.jvm.PID(), configuration(before))
	if err := d.adopt(ctx); err != nil {
		return err
	}
	after, err := d.outputs()
	if err != nil {
		return err
	}
	d.say("\njcmd %d VM.log list:\n%s", d.jvm.PID(), configuration(after))
	if after != before {
		return errors.New("the JVM does not list the same outputs before and after")
	}
	d.say("The JVM lists the same as before, and was not restarted.\n")
	d.say("Read what it logged meanwhile:\n  %s logs %s | less\nRemove that and the report:\n  rm -r %s", d.ullage, d.dest, d.dir)
	d.dir = "" // both stay
	return nil
}

// outputs returns the JVM's list of its log outputs.
func (d *demo) outputs() (string, error) {
	return lab.Command(lab.Patience, filepath.Join(d.jdk.Home, "bin", "jcmd"), strconv.Itoa(d.jvm.PID()), "VM.log", "list")
}

// configuration returns the part of a list that names outputs.
func configuration(listed string) string {
	if i := strings.Index(listed, "Log output configuration:"); i >= 0 {
		return strings.TrimSpace(listed[i:])
	}
	return listed
}

// attachable waits until the JVM catches the signal with which jcmd makes it listen: until then, the signal would end
// the JVM.
func (d *demo) attachable(ctx context.Context) error {
	caught := func() bool {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.jvm.PID()))
		_, rest, _ := strings.Cut(string(status), "\nSigCgt:\t")
		text, _, _ := strings.Cut(rest, "\n")
		mask, _ := strconv.ParseUint(text, 16, 64)
		return mask&(1<<(syscall.SIGQUIT-1)) != 0
	}
	if d.when(ctx, caught).IsZero() {
		return fmt.Errorf("wait for the JVM: %w", cmp.Or(ctx.Err(), errors.New("it does not catch SIGQUIT")))
	}
	return nil
}

// adopt runs the command for the demo's time and shows its progress.
func (d *demo) adopt(ctx context.Context) error {
	pid, lasts := strconv.Itoa(d.jvm.PID()), strconv.Itoa(d.seconds)+"s"
	d.say("ullage adopt %s '%s' --for %s --dest %s", pid, selection, lasts, d.dest)
	cmd := exec.CommandContext(ctx, d.ullage, "adopt", pid, selection, "--for", lasts, "--dest", d.dest)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is for us, and we pass it on
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = drain
	cmd.Stdout, cmd.Stderr = d.out, d.out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run ullage adopt: %w", err)
	}
	return nil
}
