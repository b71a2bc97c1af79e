package e2e

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ullage/ullage/test/jvm"
)

const raise = "gc*=debug"

// An annotation of a running pod raises the log level of its JVM, and its removal restores the level. The time is
// measured as a user sees it: from kubectl's return to the first raised line that is persisted.
func TestAnnotationRaisesAndRestores(t *testing.T) {
	const trials = 5 // with each JDK
	var mu sync.Mutex
	var up, down []time.Duration
	again := 0
	t.Run("with", func(t *testing.T) {
		for _, jdk := range []int{17, 25} {
			t.Run(fmt.Sprintf("jdk%d", jdk), func(t *testing.T) {
				t.Parallel()
				r := newRaised(t, jdk)
				for range trials {
					raised, restored, missed := r.trial()
					mu.Lock()
					up, down, again = append(up, raised), append(down, restored), again+missed
					mu.Unlock()
				}
				r.asBefore()
			})
		}
	})
	if len(up) != 2*trials || len(down) != 2*trials {
		t.Fatalf("%d raises and %d restores were seen, want %d", len(up), len(down), 2*trials)
	}
	addTimes("annotated to the first raised line persisted", up, "1.5 s", "8 s")
	figures.add(fmt.Sprintf("annotated again, because the kubelet had missed one of %d changes", 2*len(up)), fmt.Sprint(again), "-")
	addTimes("annotation removed to the last raised line", down, "-", "-")
	t.Logf("raised after %v, restored after %v", up, down)
}

// addTimes adds the median and the maximum of times, which it sorts.
func addTimes(what string, times []time.Duration, median, most string) {
	slices.Sort(times)
	figures.add(fmt.Sprintf("%s, median of %d", what, len(times)), times[len(times)/2].Round(time.Millisecond).String(), median)
	figures.add(fmt.Sprintf("%s, maximum", what), times[len(times)-1].Round(time.Millisecond).String(), most)
}

// raised is a pod whose persisted lines are followed.
type raised struct {
	*space
	lines    *followed
	own, jvm string // the configuration as the sidecar and as the JVM show it
}

func newRaised(t *testing.T, jdk int) *raised {
	r := &raised{space: newSpace(t)}
	r.apply(jvmPod{Name: "app", JDK: jdk, Java: []string{"Churn", "600000", "60"}}.manifest())
	r.ready("app")
	r.eventually(time.Minute, "the JVM's log configuration", func() bool {
		var err error
		r.own, err = r.tryExec("app", "ullage", "ullage", "levels", "list")
		return err == nil && strings.Contains(r.own, "gc-%p.log")
	})
	r.jvm = r.jcmd()
	r.lines = follow(r.space, "app", "ullage")
	r.lines.await(0, "a persisted line", func([]string) bool { return true })
	return r
}

// outputs returns the table of outputs that `ullage levels list` prints, without the table of JVMs before it,
// which has ages that change.
func outputs(list string) string {
	_, outputs, _ := strings.Cut(list, "\n\n")
	return outputs
}

// jcmd asks the JVM for its log configuration without any of our code.
func (r *raised) jcmd() string {
	r.Helper()
	list := r.exec("app", "app", "jcmd", "1", "VM.log", "list")
	return strings.ReplaceAll(list, " (reconfigured)", "")
}

// trial raises and restores once. up is the time from the return of the kubectl that annotates to the first raised
// line, down the time from the return of the kubectl that removes the annotation to the last raised line. again is how
// often the pod was annotated again.
func (r *raised) trial() (up, down time.Duration, again int) {
	r.Helper()
	from := r.lines.count()
	seen := annotate(r.space, "app", "ullage.dev/log="+raise)
	annotated := time.Now()
	first := r.lines.await(from, "a raised line", func(lines []string) bool { return isRaised(lines[len(lines)-1]) })
	again += seen()

	seen = annotate(r.space, "app", "ullage.dev/log-")
	removed := time.Now()
	r.lines.await(first, "ten collections without a raised line", func(lines []string) bool {
		pauses := 0
		for _, line := range slices.Backward(lines) {
			if isRaised(line) || pauses == 10 {
				break
			}
			if strings.Contains(line, "Pause Young") {
				pauses++
			}
		}
		return pauses == 10
	})
	again += seen()
	if now := r.exec("app", "ullage", "ullage", "levels", "list"); outputs(now) != outputs(r.own) {
		r.Errorf("the configuration was\n%sand is, after a raise,\n%s", r.own, now)
	}
	last := r.lines.last(isRaised)
	return r.lines.at(first).Sub(annotated), r.lines.at(last).Sub(removed), again
}

// annotate annotates a pod. As docs/troubleshooting.md advises, it changes another annotation every five seconds
// until seen is called: a kubelet that has missed a change writes it at the next change. seen returns the number
// of repetitions.
func annotate(s *space, pod string, changes ...string) (seen func() int) {
	s.Helper()
	s.kubectl(append([]string{"annotate", "--overwrite", "pod", pod}, changes...)...)
	ctx, cancel := context.WithCancel(s.Context())
	again := make(chan int, 1)
	go func() {
		tick := time.NewTicker(5 * time.Second)
		defer tick.Stop()
		for count := 0; ; count++ {
			select {
			case <-ctx.Done():
				again <- count
				return
			case <-tick.C:
				_, _ = s.try("annotate", "--overwrite", "pod", pod, fmt.Sprintf("ullage.dev/log-id=%d", time.Now().UnixMilli()))
			}
		}
	}()
	return func() int { cancel(); return <-again }
}

func (r *raised) asBefore() {
	r.Helper()
	if now := r.jcmd(); now != r.jvm {
		r.Errorf("the JVM's configuration was\n%sand is, after all raises,\n%s", r.jvm, now)
	}
}

// isRaised reports whether only a raise makes a JVM write the line.
func isRaised(line string) bool { return strings.Contains(line, "][debug][") }

// unraised returns text without the lines that are due to a raise, and the times at which the level
// changed: the times of the first and the last line of each raise.
func unraised(text string) (rest string, changes []time.Time) {
	var b strings.Builder
	var last time.Time
	for line := range strings.Lines(text) {
		if !isRaised(line) {
			b.WriteString(line)
			continue
		}
		at, ok := jvm.TimeOf([]byte(line))
		if !ok {
			continue
		}
		if at.Sub(last) > time.Second { // another raise
			changes = append(changes, last, at)
		}
		last = at
	}
	return b.String(), append(changes, last)
}

// followed collects the lines that one `ullage logs -f` prints, each with the time of its arrival.
type followed struct {
	*space
	mu    sync.Mutex
	text  []string
	times []time.Time
	end   error
}

func follow(s *space, pod, sidecar string) *followed {
	s.Helper()
	f := &followed{space: s}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "kubectl", "-n", s.name, "exec", pod, "-c", sidecar, "--", "ullage", "logs", "-f", "/var/lib/ullage")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		s.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			f.add(lines.Text())
		}
		err := cmd.Wait()
		f.mu.Lock()
		defer f.mu.Unlock()
		f.end = fmt.Errorf("kubectl exec has ended: %w", err)
	}()
	s.Cleanup(func() { cancel(); <-done })
	return f
}

func (f *followed) add(line string) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text, f.times = append(f.text, line), append(f.times, now)
}

func (f *followed) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.text)
}

// await waits until the function are returns true for the lines from index up to a later line. It returns the index of
// that later line.
func (f *followed) await(index int, what string, are func(lines []string) bool) int {
	f.Helper()
	found := -1
	next := index
	f.eventually(time.Minute, what, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		for ; next < len(f.text) && found < 0; next++ {
			if are(f.text[index : next+1]) {
				found = next
			}
		}
		if found < 0 && f.end != nil {
			f.Errorf("while waiting for %s: %v", what, f.end)
			return true
		}
		return found >= 0
	})
	if found < 0 {
		f.FailNow()
	}
	return found
}

func (f *followed) at(index int) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.times[index]
}

// last returns the index of the last matching line.
func (f *followed) last(is func(line string) bool) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, line := range slices.Backward(f.text) {
		if is(line) {
			return i
		}
	}
	return -1
}

// The plugin raises, shows and restores levels. A raise only adds lines: without them, the log is the same
// as the JVM's reference output.
func TestPlugin(t *testing.T) {
	t.Parallel()
	const password = "hunter2" // in the JVMs' command lines
	s := newSpace(t)
	settings := pluginSettings()
	ullage := plugin(s, settings)
	for _, pod := range []string{"app", "quiet"} {
		s.apply(jvmPod{Name: pod, JDK: 25, Java: []string{"-Dpassword=" + password, "Churn", "600000", "60", password}, After: linger, Grace: 1}.manifest())
	}
	s.ready("app")
	s.ready("quiet")

	got := ullage("levels", "app", raise, "--for", "10m")
	matches(s.T, "levels POD SELECTION", got, `(?m)^pid \d+: gc\*=debug in addition to its own, on file=/var/log/jvm/gc-%p\.log$`, `(?m)^until \d\d:\d\d:\d\d, in 10m0s$`)
	if note := s.field("pod/app", `.metadata.annotations.ullage\.dev/log`); note != raise {
		s.Errorf("ullage.dev/log is %q, want %q", note, raise)
	}
	matches(s.T, "levels POD", ullage("levels", "app"), `(?m)^log level: +gc\*=debug until`, `(?m)^JVM: +pid \d+ has gc\*=debug`)
	matches(s.T, "status", ullage("status"), `^POD +READY +USED +BACKLOG +LAG +LEVEL +ERRORS\n`,
		`(?m)^app +yes +\S+ +\S+ +\S+ +gc\*=debug\((10m0|9m\d+)s\) +-$`, `(?m)^quiet +yes +\S+ +\S+ +\S+ +own +-$`)
	matches(s.T, "status -l", ullage("status", "-l", "app=quiet"), `^POD [^\n]*\nquiet [^\n]*\n$`)
	matches(s.T, "top", ullage("top"), `^POD +USED +HEADROOM +BACKLOG +LAG +ERRORS\n`, `(?m)^app +\d+% +\S+ +\S+ +\S+ +-$`, `(?m)^quiet +\d+% `)
	s.eventually(time.Minute, "'logs' prints a raised line", func() bool { return strings.Contains(ullage("logs", "app"), "][debug][") })
	page, recent := livePage(s, settings, "app")
	matches(s.T, "open", page, `^<!doctype html>`, `<script>`)
	matches(s.T, "open, recent", recent, `"name": "\w+ young`)

	matches(s.T, "levels POD --reset", ullage("levels", "app", "--reset"), `(?m)^pid \d+ is back at its own level, without gc\*=debug$`)
	matches(s.T, "levels POD", ullage("levels", "app"), `(?m)^log level: +the JVM's own$`)
	if notes := s.field("pod/app", ".metadata.annotations"); strings.Contains(notes, "ullage.dev/log") {
		s.Errorf("after a reset, the annotations are %s, want no ullage.dev/log in them", notes)
	}
	written := endOf(s, "app", "app")
	var persisted string
	var changes []time.Time
	s.eventually(time.Minute, "'logs' prints the last line", func() bool {
		persisted, changes = unraised(ullage("logs", "app"))
		return isWhole(written, persisted, changes)
	})
	same(s.T, written, persisted, changes...)
	if quiet := ullage("logs", "quiet"); strings.Contains(quiet, "][debug][") {
		s.Error("the other pod was raised too, want only app raised")
	}
	incidentOf(s, settings, "quiet", password)
}

// pluginSettings returns the environment for commands with our plugin: kubectl finds its plugins on
// the PATH.
func pluginSettings() []string {
	return []string{"PATH=" + filepath.Dir(program("kubectl-ullage")) + string(os.PathListSeparator) + os.Getenv("PATH"), "BROWSER=true"}
}

// plugin returns a function that runs `kubectl ullage` in the namespace.
func plugin(s *space, settings []string) func(args ...string) string {
	return func(args ...string) string {
		s.Helper()
		out, _, err := command("", "env", slices.Concat(settings, []string{"kubectl", "ullage", "-n", s.name}, args)...)
		return s.must(out, err)
	}
}

// matches requires that every expression matches the text.
func matches(t *testing.T, what, text string, expressions ...string) {
	t.Helper()
	for _, expression := range expressions {
		if !regexp.MustCompile(expression).MatchString(text) {
			t.Errorf("%s: nothing matches %s in\n%s", what, expression, text)
		}
	}
}
