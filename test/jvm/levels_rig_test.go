package jvm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/test/lab"
)

// levelRig is a rig whose sidecar changes log levels as requested by the annotations in the file notes. The sidecar
// can be restarted.
type levelRig struct {
	*rig
	notes string
	flags []string
	user  *syscall.Credential // of the sidecar; nil: the user of the test
}

// newLevelRig creates the directories, which all users may write to. It starts no sidecar.
func newLevelRig(t *testing.T, jdk lab.JDK, flags ...string) *levelRig {
	t.Helper()
	r := &levelRig{rig: &rig{T: t, jdk: jdk, source: lab.Tmpfs(t, "64m"), dest: t.TempDir(), truth: t.TempDir()}}
	r.notes = filepath.Join(t.TempDir(), "annotations")
	for _, dir := range []string{r.dest, r.truth} {
		if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
			t.Fatal(err)
		}
	}
	r.flags = []string{"run", "--source", r.source, "--dest", r.dest, "--listen", "127.0.0.1:0", "--sync-interval", "50ms",
		"--compress", "none", "--annotations", r.notes}
	r.flags = append(r.flags, flags...)
	r.annotate(nil)
	return r
}

// raising returns a rig with a sidecar that looks for JVMs among the processes. It sees only JVMs that log to this
// source.
func raising(t *testing.T, jdk lab.JDK, flags ...string) *levelRig {
	t.Helper()
	r := newLevelRig(t, jdk, append(flags, "--attach", "process-namespace")...)
	r.up()
	return r
}

// up starts the sidecar, or restarts it after a kill.
func (r *levelRig) up() {
	r.Helper()
	cmd := exec.Command(program, r.flags...)
	if r.user != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: r.user}
	}
	side, err := lab.StartCommand(cmd)
	if err != nil {
		r.Fatal(err)
	}
	r.side = side
	r.Cleanup(func() {
		side.Kill()
		if r.Failed() {
			r.Logf("ullage said:\n%s", side.Stderr())
		}
	})
}

// annotate replaces the annotations as the kubelet does: all of them at once.
// Keys are without their prefix.
func (r *levelRig) annotate(all map[string]string) {
	r.Helper()
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&text, "ullage.dev/%s=%q\n", key, all[key])
	}
	fresh := r.notes + ".new"
	err := os.WriteFile(fresh, []byte(text.String()), 0o644)
	if err == nil {
		err = os.Rename(fresh, r.notes)
	}
	if err != nil {
		r.Fatal(err)
	}
}

// want requests a raise by annotation.
func (r *levelRig) want(selection, lasts string) {
	r.Helper()
	r.annotate(map[string]string{"log": selection, "log-for": lasts})
}

// statusOf returns /status of a sidecar.
func statusOf(r *levelRig) (st admin.Status) {
	r.Helper()
	_, body, err := r.side.Get("/status")
	if err == nil {
		err = json.Unmarshal([]byte(body), &st)
	}
	if err != nil {
		r.Fatalf("read /status: %v\n%s", err, body)
	}
	return st
}

// levels returns the part of /status about levels.
func (r *levelRig) levels() admin.Levels {
	r.Helper()
	st := statusOf(r)
	if st.Levels == nil {
		r.Fatal("no levels in /status")
	}
	return *st.Levels
}

// raisedUntil waits for a raise in /status and returns its end.
func (r *levelRig) raisedUntil() time.Time {
	r.Helper()
	var until time.Time
	lab.Eventually(r, patience, "/status has a raise that the JVM took", func() bool {
		l := r.levels()
		if l.Raise == nil || len(l.JVMs) == 0 || l.JVMs[0].Applied == "" {
			return false
		}
		until = l.Raise.Until
		return true
	})
	return until
}

// shipped waits until the persisted lines of a stream contain a text.
func (r *levelRig) shipped(stream, text string) {
	r.Helper()
	lab.Eventually(r, patience, fmt.Sprintf("%q is in the persisted lines of %s", text, stream), func() bool {
		return strings.Contains(r.soFar(stream), text)
	})
}

// soFar returns the lines of a stream that have been persisted so far.
func (r *levelRig) soFar(stream string) string {
	r.Helper()
	var text bytes.Buffer
	if err := lab.ReadStream(&text, r.dest, stream); err != nil {
		r.Fatal(err)
	}
	return text.String()
}

// configured waits until the JVM has the wanted configuration.
func (r *levelRig) configured(p *listened, want string) {
	r.Helper()
	is := ""
	defer func() {
		if r.Failed() {
			r.Logf("the configuration is\n%swant\n%s", is, want)
		}
	}()
	lab.Eventually(r, patience, "the JVM has the wanted log configuration", func() bool {
		is = p.configuration()
		return is == want
	})
}

// selects waits until an item is in the selection of one of the JVM's outputs.
func (r *levelRig) selects(p *listened, item string) {
	r.Helper()
	lab.Eventually(r, patience, item+" in the JVM's log configuration", func() bool {
		return strings.Contains(p.configuration(), ","+item)
	})
}
