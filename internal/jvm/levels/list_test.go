package levels

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/control"
	"github.com/ullage/ullage/internal/jvm/outputs"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/test/lab/fakejvm"
)

// live returns the JVMs of a list, without the stale sockets.
func live(listed []outputs.Listed) []outputs.Listed {
	return slices.DeleteFunc(slices.Clone(listed), func(l outputs.Listed) bool { return l.Stale })
}

func TestListTellsOfThoseThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Attach.Timeout = impatience
	if _, err := r.command().List(t.Context()); err == nil || !strings.Contains(err.Error(), "no JVM has a socket in") {
		t.Errorf(`got the error %v, want "no JVM has a socket in" in it`, err)
	}
	stuck, j := r.jvm(1), r.jvm(2)
	stuck.When(fakejvm.Always(fakejvm.Hang))
	listed, err := r.command().List(t.Context())
	if !timedOut(err) || len(listed) != 1 || listed[0].PID != 2 || len(listed[0].Outputs) != 3 {
		t.Fatalf(`the list is %+v, error %v; want only pid 2, with 3 outputs, and an error with "no answer"`, listed, err)
	}
	for i, o := range listed[0].Outputs {
		if o.Shipped != (i == 2) || o.Raised != "" || o.Selection != j.SelectionOf(i) {
			t.Errorf("the output is %+v; want the selection %s, no raise, shipped: %t", o, j.SelectionOf(i), i == 2)
		}
	}
}

// Sockets left behind by earlier JVMs, or by JVMs of other users, are an error only if the command names them. A
// sidecar gives the same answer as a command without a sidecar.
func TestListPassesOverSocketsThatAreLeftBehind(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, pid := range []int{7, 8, 9} {
		must(t, listenAt(t, filepath.Join(r.cfg.Attach.Tmp, fmt.Sprintf(".java_pid%d", pid))).Close())
	}
	p := r.process()
	for _, running := range []bool{false, true} {
		list := func() {
			listed, err := r.command().List(t.Context())
			var none *outputs.NoJVMError
			if len(listed) != 3 || len(live(listed)) != 0 || !errors.As(err, &none) || !strings.Contains(err.Error(), "3 sockets left") || strings.ContainsAny(err.Error(), "\n") {
				t.Errorf(`sidecar %v: listed %+v, error %v; want 3, none alive, and a NoJVMError in one line with "3 sockets left"`, running, listed, err)
			}
			of := r.cfg.Config
			of.Attach.PID = 8
			if _, err := control.NewCommand(of).List(t.Context()); err == nil || errors.As(err, &none) || !strings.Contains(err.Error(), "pid 8") {
				t.Errorf(`sidecar %v, a list of only that JVM: got the error %v, want an error with "pid 8" that is not a NoJVMError`, running, err)
			}
		}
		if running {
			p.during(list)
		} else {
			list()
		}
	}
}

// If there are many stale sockets, a list shows some of them, counts all of them and succeeds. It fails if a JVM does
// not answer.
func TestListPassesOverMoreLeftSocketsThanItLists(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Attach.Timeout = impatience
	for pid := range 20 {
		must(t, listenAt(t, filepath.Join(r.cfg.Attach.Tmp, fmt.Sprintf(".java_pid%d", pid+1))).Close())
	}
	p := r.process()
	list := func() {
		listed, err := r.command().List(t.Context())
		var none *outputs.NoJVMError
		if len(live(listed)) != 0 || len(listed) != outputs.MaxStale || !errors.As(err, &none) || !strings.Contains(err.Error(), "20 sockets left there") {
			t.Errorf(`listed %+v, error %v; want %d, none alive, and a NoJVMError with "20 sockets left there"`, listed, err, outputs.MaxStale)
		}
	}
	list()
	p.during(list)
	stuck := r.jvm(21)
	stuck.When(fakejvm.Always(fakejvm.Hang))
	var none *outputs.NoJVMError
	if _, err := r.command().List(t.Context()); !timedOut(err) || errors.As(err, &none) {
		t.Errorf(`with a JVM that does not answer: got the error %v, want an error with "no answer" that is not a NoJVMError`, err)
	}
	stuck.When(nil)
	if listed, err := r.command().List(t.Context()); len(live(listed)) != 1 || len(listed) != 1+outputs.MaxStale || err != nil {
		t.Errorf("with a JVM that answers: listed %+v, error %v; want %d, 1 of them alive, and no error", listed, err, 1+outputs.MaxStale)
	}
}

// All commands report a mistyped --source. Only a list continues without a source.
func TestAMissingSourceIsToldByListAndRotate(t *testing.T) {
	r, j := alone(t)
	r.cfg.Source += "/nowhere"
	listed, err := r.command().List(t.Context())
	if len(listed) != 1 || !errors.Is(err, statedir.ErrNoSource) {
		t.Errorf("listed %+v, error %v; want 1 JVM and ErrNoSource", listed, err)
	}
	told := j.Count()
	listed, err = r.command().Rotate(t.Context())
	if len(listed) != 0 || !errors.Is(err, statedir.ErrNoSource) || slices.Contains(j.Sent(told), fakejvm.RotateCommand) {
		t.Errorf("rotated %+v, error %v; the JVM was sent %q; want none, the error %v and no rotation", listed, err, j.Sent(told), statedir.ErrNoSource)
	}
}

func TestRotateRotatesThoseThatAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Attach.Timeout = impatience
	stuck, j := r.jvm(1), r.jvm(2)
	stuck.When(fakejvm.Once(1, fakejvm.RotateCommand, fakejvm.Hang))
	rotated, err := r.command().Rotate(t.Context())
	if !timedOut(err) || len(rotated) != 1 || rotated[0].PID != 2 {
		t.Errorf(`rotated %+v, error %v; want only pid 2 and an error with "no answer"`, rotated, err)
	}
	if sent := j.Sent(0); !slices.Equal(sent, []string{fakejvm.ListCommand, fakejvm.RotateCommand}) {
		t.Errorf("the JVM was sent %q, want a list and a rotation", sent)
	}
	if _, err := os.Stat(r.state(stateName)); !os.IsNotExist(err) {
		t.Errorf("the saved state after a rotation: got the error %v, want it not to exist", err)
	}
}

// A list asks each JVM for its name with one more command. A JVM that does not answer that command
// is listed without a name.
func TestAListNamesTheJVMs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	j, shy := r.jvm(1), r.jvm(2)
	shy.When(fakejvm.Once(1, fakejvm.DescribeCommand, fakejvm.Garble))
	p := r.process()
	var listed []outputs.Listed
	var err error
	p.during(func() { listed, err = r.command().List(t.Context()) })
	if err != nil || len(listed) != 2 {
		t.Fatalf("listed %+v, error %v; want 2 JVMs and no error", listed, err)
	}
	if want := (attach.Description{Main: "shop.Main", Version: "17.0.15+6", Collector: "G1", Uptime: 6076 * time.Millisecond}); listed[0].JVM != want {
		t.Errorf("the description is %+v, want %+v", listed[0].JVM, want)
	}
	if listed[1].JVM != (attach.Description{}) || len(listed[1].Outputs) != 3 {
		t.Errorf("listed %+v, want no description and 3 outputs", listed[1])
	}
	if sent := j.Sent(0); !slices.Equal(sent, []string{fakejvm.ListCommand, fakejvm.DescribeCommand}) {
		t.Errorf("the JVM was sent %q, want a list and a description", sent)
	}
}
