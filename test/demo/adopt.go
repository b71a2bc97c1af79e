package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ullage/ullage/internal/jvm/adopt"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/test/lab"
)

// showAdopt starts a JVM without any log and lets `ullage adopt` ship a log for a while. The JVM lists the same
// outputs before and after.
func showAdopt(ctx context.Context, d *demo) error {
	// The JVM outlasts the adoption; the demo ends the JVM.
	if err := d.churn(time.Hour); err != nil {
		return err
	}
	d.say("A JVM (%s, pid %d) is running, started without -Xlog.", d.jdk, d.jvm.PID())
	if err := attachable(ctx, d); err != nil {
		return err
	}
	before, err := outputs(d)
	if err != nil {
		return err
	}
	d.say("jcmd %d VM.log list:\n%s", d.jvm.PID(), configuration(before))
	if err := d.adopt(ctx); err != nil {
		return err
	}
	after, err := outputs(d)
	if err != nil {
		return err
	}
	d.say("\njcmd %d VM.log list:\n%s", d.jvm.PID(), configuration(after))
	if after != before {
		return errors.New("the JVM does not list the same outputs before and after")
	}
	d.say("The JVM lists the same outputs and was not restarted.\n")
	d.say("Read what it logged meanwhile:\n  %s logs %s | less\nRemove that and the report:\n  rm -r %s", d.ullage, d.dest, d.dir)
	d.dir = "" // keep the log and the report
	return nil
}

// outputs returns the JVM's list of its log outputs.
func outputs(d *demo) (string, error) {
	return lab.Command(lab.Patience, filepath.Join(d.jdk.Home, "bin", "jcmd"), strconv.Itoa(d.jvm.PID()), "VM.log", "list")
}

// configuration returns the part of a list that names outputs.
func configuration(listed string) string {
	if i := strings.Index(listed, "Log output configuration:"); i >= 0 {
		return strings.TrimSpace(listed[i:])
	}
	return listed
}

// attachable waits until the JVM answers. To make a JVM listen, jcmd sends SIGQUIT, which would kill a JVM that is
// still starting. ullage sends SIGQUIT only once the JVM catches that signal.
func attachable(ctx context.Context, d *demo) error {
	cfg := adopt.Config(d.jvm.PID())
	err := errors.New("it was not found")
	answers := func() bool {
		if found, _ := attach.Processes(ctx, cfg); len(found) == 1 {
			_, err = attach.New(cfg, "").Run(ctx, found[0], attach.List())
		}
		return err == nil
	}
	if d.when(ctx, answers).IsZero() {
		return fmt.Errorf("wait for the JVM: %w", cmp.Or(ctx.Err(), err))
	}
	return nil
}

// adopt runs the command for d.seconds and shows its progress.
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
