package levels

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/jvm/plan"
	"github.com/ullage/ullage/test/lab"
	"github.com/ullage/ullage/test/lab/fakejvm"
)

// A valid saved state, with one raise and one baseline.
const soundState = `{"raises":{"annotation":{"selection":"gc*=debug","for":3600000000000,"since":"2026-11-21T08:00:00Z","until":"2026-11-21T09:00:00Z","reason":"annotation","why":"annotation ullage.dev/log","ended":""}},` +
	`"jvms":{"25:7:1795248000000000000":{"pid":1,"outputs":[{"Index":2,"Name":"file=/var/log/jvm/gc.log","Selection":"all=off,gc*=info","Decorators":"uptime,level,tags","Options":"filecount=5,filesize=0B,async=false","Reconfigured":false,"Err":null}],"applied":"gc*=debug","cause":"annotation"}}}`

// forgeries returns texts with which an application might replace the saved state.
func forgeries(t *testing.T) map[string]func(path string) error {
	write := func(text string) func(path string) error {
		return func(path string) error { return os.WriteFile(path, []byte(text), 0o666) }
	}
	var many []string
	for i := range 2000 { // fewer than the file may hold
		many = append(many, fmt.Sprintf(`"%d":{"outputs":[]}`, i))
	}
	outside := filepath.Join(t.TempDir(), "outside")
	must(t, os.WriteFile(outside, []byte(soundState), 0o600))
	t.Cleanup(func() {
		if text, err := os.ReadFile(outside); err != nil || string(text) != soundState {
			t.Errorf("a file outside the source was written to: %q, %v", text, err)
		}
	})
	return map[string]func(path string) error{
		"a huge file":                write(strings.Repeat(" ", 1<<20) + "{}"),
		"a sparse file":              func(path string) error { must(t, write("{")(path)); return os.Truncate(path, 1<<40) },
		"garbage":                    write("\x00\xff{]"),
		"an empty file":              write(""),
		"no raises":                  write(`{"raises":null}`),
		"a FIFO":                     func(path string) error { return unix.Mkfifo(path, 0o666) },
		"a link to outside":          func(path string) error { return os.Symlink(outside, path) },
		"a link to itself":           func(path string) error { return os.Symlink(path, path) },
		"a raise of 1000 h":          write(strings.Replace(soundState, "3600000000000", "3600000000000000", 1)),
		"a baseline that is invalid": write(strings.Replace(soundState, "all=off,gc*=info", "all=off disable=true", 1)),
		"many JVMs":                  write(`{"raises":{},"jvms":{` + strings.Join(many, ",") + "}}"),
	}
}

func TestAForgedStateIsNotBelieved(t *testing.T) {
	t.Parallel()
	for name, forge := range forgeries(t) {
		for _, when := range []string{"before the start", "while raised"} {
			t.Run(name+" "+when, func(t *testing.T) {
				r := newRig(t)
				j := r.jvm(1)
				p := r.process()
				if when == "while raised" {
					r.annotate("log", "gc*=debug")
					p.step()
				}
				must(t, os.MkdirAll(filepath.Dir(r.state(stateName)), 0o700))
				must(t, os.RemoveAll(r.state(stateName)))
				must(t, forge(r.state(stateName)))
				r.annotate("log", "gc*=debug")
				for range 3 {
					p.step()
				}
				logs(t, j, fakejvm.Atop("gc*=debug"))
				j.HasTaken(2)
				if text := p.log.String(); strings.Contains(text, "%!") || strings.Count(text, "WARN") > 1 {
					t.Errorf("want at most 1 warning and no badly formatted text in the log:\n%s", text)
				}
				hasError(t, p.Status(), "") // the saved state is sound again
				r.restored(p, j)
			})
		}
	}
}

func TestADirectoryInThePlaceOfTheStateRaisesNothing(t *testing.T) {
	r, j := alone(t)
	must(t, os.MkdirAll(r.state(stateName), 0o700))
	r.annotate("log", "gc*=debug")
	p := r.process()
	for range 3 {
		p.step()
	}
	logs(t, j, fakejvm.OwnSelection)
	hasError(t, p.Status(), "its baseline cannot be saved")
	must(t, os.Remove(r.state(stateName)))
	p.run()
	soon(t, patience, j, fakejvm.Atop("gc*=debug"))
	within(t, patience, "the status has no error any more", func() bool { return len(p.Status().Errors) == 0 })
}

// Whatever end is forged, a raise ends no later than the longest allowed raise would.
func TestAForgedEndDoesNotMove(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	forged := strings.Replace(strings.Replace(soundState, `{"annotation"`, `{"command"`, 1), "2026-11-21T09:00:00Z", "9999-11-21T09:00:00Z", 1)
	must(t, os.Mkdir(filepath.Dir(r.state(stateName)), 0o700))
	must(t, os.WriteFile(r.state(stateName), []byte(forged), 0o600))
	p := r.process()
	p.step()
	until := p.Status().Raise.Until
	if until.IsZero() {
		t.Fatalf("the status is %+v, want a raise in effect", p.Status())
	}
	p.step()
	if again := p.Status().Raise.Until; !again.Equal(until) {
		t.Errorf("the end of the raise moved from %s to %s, want it to stay", until, again)
	}
}

func TestAStateThatIsTakenAwayWhileRaisedHoldsInMemory(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(r *rig) error{
		"the file":      func(r *rig) error { return os.Remove(r.state(stateName)) },
		"the lock":      func(r *rig) error { return os.Remove(r.state(lockName)) },
		"the directory": func(r *rig) error { return os.RemoveAll(filepath.Dir(r.state(stateName))) },
	} {
		r := newRig(t)
		j := r.jvm(1)
		r.annotate("log", "gc*=debug", "log-for", "1h")
		p := r.process()
		p.step()
		until := p.Status().Raise.Until
		must(t, take(r))
		for range 3 {
			p.step()
		}
		if st := p.Status(); !st.Raise.Until.Equal(until) || j.Count() != 2 {
			t.Errorf("%s: the status is %+v; the JVM was sent %q; want the raise until %s and no command", name, st, j.Sent(2), until)
		}
		if conn, err := dial(p); err != nil {
			t.Errorf("%s: connecting to the Loop: error %v, want none", name, err)
		} else {
			conn.Close()
		}
		r.restored(p, j)
		hasError(t, p.Status(), "")
	}
}

// The JVM is already raised when the command arrives. The raised selection must not become the baseline.
func TestACommandAfterTheStateWasTakenAwayDoesNotLoseTheBaseline(t *testing.T) {
	r, j := alone(t)
	r.annotate("log", "gc*=debug", "log-for", "1h")
	p := r.process()
	p.step()
	must(t, os.Remove(r.state(stateName)))
	for range 8 { // as many polls as in two seconds
		p.step()
	}
	_, _, err := p.set("safepoint*=debug", time.Hour)
	must(t, err)
	p.step()
	r.annotate()
	if _, err := p.reset(); err != nil {
		t.Error(err)
	}
	p.step()
	logs(t, j, fakejvm.OwnSelection)
}

func TestSomethingElseInThePlaceOfTheStateDirectoryIsToldAndMended(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(path string) error{
		"a file":            func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a link to outside": func(path string) error { return os.Symlink("/tmp", path) },
		"a link to nothing": func(path string) error { return os.Symlink("nothing", path) },
		"a FIFO":            func(path string) error { return unix.Mkfifo(path, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			j := r.jvm(1)
			p := r.raised(j)
			dir := filepath.Dir(r.state(stateName))
			must(t, os.RemoveAll(dir))
			must(t, replace(dir))
			r.annotate()
			for range 3 {
				p.step()
			}
			p.log.says(t, 1, "lock the levels")
			hasError(t, p.Status(), "lock the levels")
			must(t, os.Remove(dir))
			p.step()
			logs(t, j, fakejvm.OwnSelection)
			hasError(t, p.Status(), "")
		})
	}
}

// A user other than root can neither read nor overwrite a file that root has saved.
func TestAStateOfAnotherUserIsToldAsThat(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	must(t, os.Mkdir(filepath.Dir(r.state(stateName)), 0o700))
	must(t, os.WriteFile(r.state(stateName), []byte("{}"), 0o600))
	must(t, os.Chmod(filepath.Dir(r.cfg.Source), 0o755)) // lets the other user reach the file
	p := r.process()
	lab.AsNobody(t, func() { p.step(); p.step() })
	p.log.says(t, 1, "cannot read the saved log levels")
	p.log.says(t, 1, "run as the user who wrote them, or as root")
	p.log.says(t, 0, "are damaged")
	p.log.says(t, 0, "replacing them")
}

func TestALockThatAnotherProcessHoldsIsWaitedFor(t *testing.T) {
	r, j := alone(t)
	other := owner(t, r)
	r.annotate("log", "gc*=debug")
	p := r.process()
	p.run()
	if becomes(700*time.Millisecond, func() bool { return j.Count() > 0 }) {
		t.Errorf("without the lock the process sent the JVM %q, want nothing", j.Sent(0))
	}
	other.Release()
	soon(t, patience, j, fakejvm.Atop("gc*=debug"))
	within(t, patience, "the status shows the raise", func() bool { return p.Status().Cause == plan.FromAnnotation })
	hasError(t, p.Status(), "")
}

func TestASourceThatIsMissingIsWaitedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	must(t, os.Remove(r.cfg.Source))
	j := r.jvm(1)
	r.annotate("log", "gc*=debug")
	p := r.process()
	p.run()
	if becomes(700*time.Millisecond, func() bool { return j.Count() > 0 }) {
		t.Errorf("without a source the process sent the JVM %q, want nothing", j.Sent(0))
	}
	must(t, os.Mkdir(r.cfg.Source, 0o700))
	soon(t, patience, j, fakejvm.Atop("gc*=debug"))
	r.annotate()
	soon(t, patience, j, fakejvm.OwnSelection)
	p.log.says(t, 0, "WARN")
}

func TestAnOutputThatIsTooLongToBeRestoredIsLeftAlone(t *testing.T) {
	r, j := alone(t)
	j.Lock()
	selection := "all=off" // as JDK 25 can list it
	for _, tag := range strings.Split("gc heap cpu ref age ergo phases start stats task tlab region remset marking", " ") {
		selection += ",codecache+compilation+" + tag + "+classhisto+metaspace=info"
	}
	for _, tag := range strings.Split("load unload init exit loader path cds jvmti", " ") {
		selection += ",class+constraints+" + tag + "+defaultmethods+stacktrace=info"
	}
	j.Outputs[2].Selection, j.Outputs[2].Options = selection, "foldmultilines=false,filecount=5,filesize=0B,async=false"
	j.Unlock()
	r.annotate("log", "gc*=debug")
	p := r.process()
	p.step()
	hasError(t, p.Status(), "the command has")
	r.annotate()
	p.step()
	retried(p, func() bool { return j.Selection() == selection })
	hasError(t, p.Status(), "")
	if saved := p.savedJVMs(r); len(saved) > 0 {
		t.Errorf("the saved state has %+v, want no baseline that cannot be restored", saved)
	}
}
