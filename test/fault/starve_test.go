package fault

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// A hundredth of a processor is too little for the sidecar. The lines wait on the tmpfs, the writer notices
// nothing, and everything is shipped once the sidecar gets more processor time.
func TestHundredthOfAProcessor(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "dest"))
	limit := cpuGroup(t)
	limit.percent(1)
	limit.add(r.side)
	before, used := r.writer.Written(), cpuTime(t, r.side)
	begun := time.Now()
	for range long(30, 3) {
		r.writes(perSecond)
	}
	spent := time.Since(begun)
	share := 100 * (cpuTime(t, r.side) - used).Seconds() / spent.Seconds()
	t.Logf("%d lines in %s while the sidecar had %.1f%% of a processor", r.writer.Written()-before, spent.Round(time.Millisecond), share)
	if share > 5 {
		t.Error("the sidecar had more than 5 percent of a processor, want less: otherwise the test proves nothing")
	}
	limit.percent(100)
	r.turnsGreen()
	r.balances()
}

// cpuTime returns the processor time that a sidecar has used.
func cpuTime(t *testing.T, side *lab.Sidecar) time.Duration {
	t.Helper()
	used, err := lab.CPUTime(side.PID())
	if err != nil {
		t.Fatal(err)
	}
	return used
}

// runVia starts the sidecar through another program, which executes it.
func runVia(t *testing.T, r *rig, program ...string) *lab.Sidecar {
	t.Helper()
	args := append(program, lab.Binary(), "run", "--source", r.source, "--dest", r.dest, "--listen", "127.0.0.1:0")
	side, err := lab.StartCommand(exec.Command(args[0], append(args[1:], r.flags...)...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(side.Kill)
	return side
}

// Without inotify events, the sidecar polls: it reads later, but reads everything.
func TestInotifyInstancesAreExhausted(t *testing.T) {
	needRoot(t)
	r := newRig(t, filepath.Join(t.TempDir(), "dest"))
	r.side.Kill()
	// The limit belongs to a user namespace, so no other process notices.
	r.side = runVia(t, r, "unshare", "--user", "--map-root-user", "sh", "-c", `echo 0 >/proc/sys/user/max_inotify_instances && exec "$@"`, "sh")
	if _, err := r.side.Addr(patience); err != nil {
		lab.Needs(t, "user namespaces: "+err.Error())
	}
	// The admin port answers before the source is opened.
	lab.Eventually(t, patience, "the sidecar logs what to do", func() bool {
		return strings.Contains(r.side.Stderr(), "raise fs.inotify.max_user_instances")
	})
	if watching := r.metric("ullage_source_watching"); watching != 0 {
		t.Errorf("ullage_source_watching is %v, want 0", watching)
	}
	r.persists(2 * perSecond)
	r.balances()
}

// watches returns the number of inotify watches of the sidecar.
func (r *rig) watches() (n int) {
	r.Helper()
	infos, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", r.side.PID()))
	if err != nil {
		r.Fatal(err)
	}
	for _, info := range infos {
		text, _ := os.ReadFile(info) // empty if the descriptor was closed
		n += bytes.Count(text, []byte("inotify wd:"))
	}
	return n
}

// While lines flow, the sidecar suspends its inotify watch, since the writer would pay for an event at each write.
// When lines stop flowing, the kernel refuses a new watch.
func TestInotifyWatchIsRefusedWhenLinesStopFlowing(t *testing.T) {
	needRoot(t)
	r := newRig(t, filepath.Join(t.TempDir(), "dest"))
	r.side.Kill()
	r.side = runVia(t, r, "unshare", "--user", "--map-root-user")
	if _, err := r.side.Addr(patience); err != nil {
		lab.Needs(t, "user namespaces: "+err.Error())
	}
	limit := func(watches int) {
		t.Helper()
		must(t, "nsenter", "--user", "--target", fmt.Sprint(r.side.PID()),
			"sh", "-c", fmt.Sprintf("echo %d >/proc/sys/user/max_inotify_watches", watches))
	}
	r.persists(1)
	lab.Eventually(t, patience, "the watch is suspended", func() bool { return r.watches() == 0 })
	limit(0)
	r.stop()
	lab.Eventually(t, patience, "the sidecar logs what to do", func() bool {
		return strings.Contains(r.side.Stderr(), "max_user_watches")
	})
	if watching := r.metric("ullage_source_watching"); watching != 0 {
		t.Errorf("ullage_source_watching is %v, want 0", watching)
	}
	burst := func() {
		t.Helper()
		all := r.persisted() + perSecond
		if err := r.writer.Write(perSecond); err != nil {
			t.Fatal(err)
		}
		lab.Eventually(r, patience, "the lines are persisted", func() bool { return r.persisted() >= all })
	}
	burst()
	limit(1)
	lab.Eventually(t, patience, "the source is watched again", func() bool {
		return r.watches() == 1 && r.metric("ullage_source_watching") == 1
	})
	burst()
	r.balances()
}

// manyFiles is a set of many finished files in the source, with their content.
type manyFiles struct {
	streams, files int // the files of each stream; 1: no archives
	text           map[string]*bytes.Buffer
}

// write creates the files, and the archives of a stream from the oldest to the newest. Between two files of a
// stream it creates files of the other streams, so that the birth times of the two differ although the kernel
// rounds them to a tick of some milliseconds.
func (c *manyFiles) write(t *testing.T, source string) {
	t.Helper()
	c.text = map[string]*bytes.Buffer{}
	var lines []*lab.Lines
	for n := range c.streams {
		lines = append(lines, lab.NewLines(uint64(n), 1000))
		c.text[c.name(n)] = &bytes.Buffer{}
	}
	for i := range c.files {
		for n, l := range lines {
			path := filepath.Join(source, c.name(n))
			if i < c.files-1 {
				path += fmt.Sprintf(".%02d", i)
			}
			record := l.Next()
			c.text[c.name(n)].Write(record)
			if err := os.WriteFile(path, record, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (c *manyFiles) name(n int) string { return fmt.Sprintf("jvm-%d.log", n) }

// gone waits until every file is persisted and unlinked.
func (c *manyFiles) gone(t *testing.T, side *lab.Sidecar, source string) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("the sidecar said:\n%s", side.Stderr())
		}
	}()
	lab.Eventually(t, 3*patience, "every file is finished", func() bool {
		left, err := filepath.Glob(filepath.Join(source, "jvm-*"))
		return err == nil && len(left) == 0
	})
}

// compare compares the persisted lines with the written ones. If there are more files than the sidecar can hold open,
// the files of one stream may be in another order.
func (c *manyFiles) compare(t *testing.T, dest string) {
	t.Helper()
	disordered := 0
	for name, want := range c.text {
		var got bytes.Buffer
		if err := lab.ReadStream(&got, dest, name); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			disordered++
		}
		if !slices.Equal(sorted(got.String()), sorted(want.String())) {
			t.Fatalf("stream %s: %d bytes were persisted, want the lines of the %d bytes that were written", name, got.Len(), want.Len())
		}
	}
	t.Logf("%d streams, the files of %d of them in another order", len(c.text), disordered)
}

func sorted(text string) []string { return slices.Sorted(strings.Lines(text)) }

// If there are fewer descriptors than files, the files take turns, and the destination still gets the descriptors
// that it needs.
func TestOutOfFileDescriptors(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "dest"))
	r.side.Kill()
	c := manyFiles{streams: 300, files: 1}
	c.write(t, r.source)
	r.side = runVia(t, r, "prlimit", "--nofile=64:64")
	used, begun := cpuTime(t, r.side), time.Now()
	c.gone(t, r.side, r.source)
	t.Logf("%d files, each of its own stream, through 64 descriptors in %s with %s of a processor",
		c.streams, time.Since(begun).Round(time.Millisecond), cpuTime(t, r.side)-used)
	r.turnsGreen()
	c.compare(t, r.dest)
	r.balances()
}

func TestTenThousandFiles(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "dest"))
	r.side.Kill()
	c := manyFiles{streams: 500, files: 20}
	c.write(t, r.source)
	r.side = lab.Run(t, r.source, r.dest, r.flags...)
	begun := time.Now()
	c.gone(t, r.side, r.source)
	t.Logf("%d files in %s", c.streams*c.files, time.Since(begun).Round(time.Millisecond))
	peak, err := r.side.PeakMemory()
	t.Logf("the sidecar took %.1f MiB of memory", float64(peak)/(1<<20))
	if err != nil || peak > mostMemoryOfMany {
		t.Errorf("the sidecar took %d bytes of memory, error %v; want at most %d and no error", peak, err, mostMemoryOfMany)
	}
	c.compare(t, r.dest)
	r.balances()
	memory.except(r.side.PID())
}
