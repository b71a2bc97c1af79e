package jvm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

// The JVM runs in namespaces, as in a container: it shares only its /tmp and the source with the sidecar. In its own
// namespace, it is always process 1.
func TestLevelsAcrossNamespaces(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newLevelRig(t, jdk)
		at := place{tmp: newTmp(r), isolated: true}
		r.flags = append(r.flags, "--attach", "shared-tmp", "--jvm-tmp", at.tmp)
		flags := []string{"-Xlog:gc*=info:file=" + r.source + "/gc-%p.log::filecount=5,filesize=0", "-Xmn4m"}
		r.up()
		first := r.listening(at, flags, "Churn", "600000", "100")
		before := first.configuration()
		r.want("gc*=debug", "1h")
		r.shipped("gc-1.log", "[debug")
		if is := first.configuration(); !strings.Contains(is, "gc*=debug") {
			t.Errorf("want gc*=debug in the configuration:\n%s", is)
		}
		r.annotate(nil)
		r.configured(first, before)
		r.want("gc*=trace", "1h")
		r.shipped("gc-1.log", "[trace")
		first.Kill()
		second := r.listening(at, flags, "Churn", "600000", "100")
		r.selects(second, "gc*=trace")
		r.annotate(nil)
		r.configured(second, before)
		if l := r.levels(); len(l.Errors) > 0 {
			t.Errorf("errors: %q, want none", l.Errors)
		}
	})
}

// A JVM serves only its own user and group. A sidecar of another user or group reports which ones it needs, and
// continues to ship.
func TestLevelsOfAnotherUser(t *testing.T) {
	const user = 12345 // the uid and the gid of the JVM
	for _, attach := range []string{"shared-tmp", "process-namespace", "auto"} {
		for name, tc := range map[string]struct {
			uid, gid uint32
			may      bool
		}{
			"same uid and gid": {user, user, true},
			"another uid":      {user + 1, user + 1, false},
			"another gid":      {user, user + 1, false},
		} {
			t.Run(attach+"/"+name, func(t *testing.T) {
				alongside(t, func(t *testing.T, jdk lab.JDK) {
					r := newLevelRig(t, jdk)
					at := place{tmp: newTmp(r), user: user}
					open(r, program, classes, r.jdk.Home, r.source, r.dest, r.truth, r.notes)
					r.user = &syscall.Credential{Uid: tc.uid, Gid: tc.gid}
					r.flags = append(r.flags, "--attach", attach, "--jvm-tmp", at.tmp)
					r.up()
					jvm := r.launch(at, append(listener(attach), r.gcLog(), "-Xmn4m"), "Churn", "600000", "100")
					r.shipped("gc.log", "Pause Young")
					r.want("gc*=debug", "1h")
					if !tc.may {
						r.notPermitted(jvm, user, tc.uid, tc.gid)
						return
					}
					r.shipped("gc.log", "[debug")
					r.annotate(nil)
					lab.Eventually(t, patience, "the raise is over", func() bool { return r.metric("ullage_level_restores_total") == 1 })
					if is := jvm.configuration(); strings.Contains(is, "debug") {
						t.Errorf("want no debug in the configuration:\n%s", is)
					}
				})
			})
		}
	}
}

// listener returns the flag that makes a JVM listen from its start, if the sidecar cannot make it listen.
func listener(attach string) []string {
	if attach == "process-namespace" {
		return nil
	}
	return []string{"-XX:+StartAttachListener"}
}

// notPermitted requires that the sidecar reports the refusal and the user that it needs, and continues to ship.
func (r *levelRig) notPermitted(jvm *listened, user, uid, gid uint32) {
	r.Helper()
	said := ""
	defer func() {
		if r.Failed() {
			r.Logf("/status has errors %q", said)
		}
	}()
	want := fmt.Sprintf("runs as %d:%[1]d, the sidecar as %d:%d: set runAsUser: %[1]d, runAsGroup: %[1]d", user, uid, gid)
	lab.Eventually(r, patience, fmt.Sprintf("%q in /status", want), func() bool {
		l := r.levels()
		said = strings.Join(l.Errors, "\n")
		return strings.Contains(said, want) && l.Raise != nil
	})
	if r.metric(`ullage_attach_errors_total{kind="not_permitted"}`) == 0 {
		r.Error("got 0 errors of the kind not_permitted, want at least 1")
	}
	lines := strings.Count(r.soFar("gc.log"), "Pause Young")
	lab.Eventually(r, patience, "more lines are persisted", func() bool { return strings.Count(r.soFar("gc.log"), "Pause Young") > lines })
	if ended(jvm.Process) {
		r.Error("the JVM has ended, want it running")
	}
}

// open lets other users into the directories that contain the paths.
func open(t testing.TB, paths ...string) {
	t.Helper()
	top := filepath.Clean(os.TempDir())
	for _, path := range paths {
		for dir := filepath.Dir(path); strings.HasPrefix(dir, top+"/"); dir = filepath.Dir(dir) {
			info, err := os.Stat(dir)
			if err == nil {
				err = os.Chmod(dir, info.Mode()|0o755)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A JVM that does not permit attaching gets no signal: SIGQUIT would make it print all its threads.
func TestLevelsOfAJVMThatCannotBeAttachedTo(t *testing.T) {
	const disable = "-XX:+DisableAttachMechanism"
	for name, tc := range map[string]struct{ flags, env []string }{
		"flag":        {flags: []string{disable}},
		"environment": {env: []string{"JAVA_TOOL_OPTIONS=" + disable}},
	} {
		t.Run(name, func(t *testing.T) {
			alongside(t, func(t *testing.T, jdk lab.JDK) {
				r := raising(t, jdk)
				jvm := r.launch(place{env: tc.env}, append(tc.flags, r.gcLog()), "Churn", "600000", "5")
				r.want("gc*=debug", "1h")
				lab.Eventually(t, patience, "two attempts of the sidecar have failed", func() bool {
					return r.metric(`ullage_attach_errors_total{kind="disabled"}`) >= 2
				})
				if l := r.levels(); len(l.JVMs) != 1 || l.JVMs[0].Kind != "disabled" || !strings.Contains(l.JVMs[0].Error, disable) {
					t.Errorf("the levels are %+v, want 1 JVM of the kind disabled, whose error names %s", l, disable)
				}
				jvm.Kill()
				if said := jvm.said.String(); strings.Contains(said, "thread dump") {
					t.Errorf(`the JVM said %q, want no "thread dump" in it`, said)
				}
			})
		})
	}
}
