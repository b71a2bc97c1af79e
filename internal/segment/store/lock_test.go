package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/test/lab"
)

// child starts a process that lives until the test ends.
func child(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// onWrite is a writer that calls a function for each write.
type onWrite func()

func (f onWrite) Write(p []byte) (int, error) { f(); return len(p), nil }

// killed starts a process and kills it. The process is a zombie until the test ends.
func killed(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := child(t)
	must(t, cmd.Process.Kill())
	for deadline := time.Now().Add(lab.Patience); kernel.StateOf(cmd.Process.Pid) != kernel.Dying; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the killed process does not die")
		}
	}
	return cmd
}

func TestWhoeverHoldsTheDestinationIsRefusedOrWaitedFor(t *testing.T) {
	us := segment.Self()
	if us.Place == "" {
		t.Fatal("this process does not know its place")
	}
	in := func(place string, pid int) string {
		return string(segment.Owner{Host: us.Host, PID: pid, Place: place}.Record())
	}
	const unseen = 3 * lockPoll
	for name, c := range map[string]struct {
		text  string
		waits time.Duration // the least time that the second sidecar waits before it gives up; negative: it waits until it is canceled
		says  string
	}{
		"this process":                           {in(us.Place, us.PID), lockPoll, ""},
		"a living process":                       {in(us.Place, child(t).Process.Pid), lockPoll, ""},
		"a killed process":                       {in(us.Place, killed(t).Process.Pid), -1, "it was killed"},
		"a number that no process has":           {in(us.Place, 1<<22+1), -1, "it was killed"},
		"this number in another container":       {in("boot/pid:[1]", us.PID), unseen, "another machine"},
		"a number of another container":          {in("boot/pid:[1]", 1<<22+1), unseen, "another machine"},
		"a process that does not know its place": {in("", us.PID), unseen, "another machine"},
		"a process of an older release":          {fmt.Sprintf("host %q, pid %d\n", us.Host, us.PID), unseen, "another machine"},
		"an empty lock file":                     {"", unseen, "another machine"},
	} {
		t.Run(name, func(t *testing.T) {
			dest := t.TempDir()
			first, second := openStore(t, dest, DefaultConfig()), openStore(t, dest, DefaultConfig())
			must(t, first.Acquire(t.Context()))
			must(t, os.WriteFile(filepath.Join(dest, segment.OwnDir, segment.LockName), []byte(c.text), 0o600))
			ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
			defer cancel()
			enough := errors.New("it has waited long enough after its message")
			if c.waits < 0 {
				var stop context.CancelCauseFunc
				ctx, stop = context.WithCancelCause(ctx)
				second.dest.lock.log = slog.New(slog.NewTextHandler(io.MultiWriter(second.log, onWrite(func() {
					time.AfterFunc(2*unseen, func() { stop(enough) })
				})), nil))
			}
			begin := time.Now()
			err := second.dest.lock.take(ctx, unseen)
			took := time.Since(begin)
			switch {
			case c.waits < 0 && (!errors.Is(err, context.Canceled) || context.Cause(ctx) != enough):
				t.Errorf("the second sidecar did not wait: %v (%v), want %v (%v)", err, context.Cause(ctx), context.Canceled, enough)
			case c.waits >= 0 && (err == nil || !strings.Contains(err.Error(), "in use by another ullage")):
				t.Errorf(`after %s, the error is %v, want "in use by another ullage" in it`, took, err)
			case took < c.waits: // it tries at least once more: the first time the holder may have been a reader, see OwnerOf
				t.Errorf("the second sidecar gave up after %s, want %s", took, c.waits)
			}
			if log := second.log.String(); !strings.Contains(log, c.says) || strings.Count(log, "\n") > 1 {
				t.Errorf("the second sidecar logged %q, want %q once", log, c.says)
			}
			must(t, first.Close())
			must(t, second.dest.lock.take(t.Context(), unseen)) // whichever process held it
		})
	}
}
