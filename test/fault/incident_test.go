package fault

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ullage/ullage/test/jvm"
	"github.com/ullage/ullage/test/lab"
)

// answers are the required answers to the questions of docs/incident.md, in the order of the page: regular
// expressions for the output, and the exit status.
var answers = []struct {
	title  string
	want   []string
	status int
}{
	{"1. What happened at", []string{`(?m)^\[\d+\.\d{3}s\]\[info *\]\[gc`}, 0},
	{"2. Which pauses", []string{`Pause Full .* \d{3,}\.\d{3}ms`}, 0},
	{"3. Did the JVM restart", []string{`(?m) sidecar-started +\S+ after=kill$`, `(?m) gc\.log +jvm-(started|seen) +pid=\d+ uptime=\S+ version=\S+ collector=Serial main=Incident flags=".*-Xmx400m.*"$`}, 0},
	{"4. Is the log complete", []string{`(?m)^gc\.log +1 `, `(?m)^gc\.log +2 `, `(?m)^gc\.log +3 `, `(?m)^ +gc\.log: gaps: \d+, of \d+ lines`, `(?m)^NOT COMPLETE`}, 1},
	{"5. What is missing", []string{`(?m)^\S+ +gc\.log .*trace=\d+`}, 0},
	{"6. What is the JVM doing now", []string{`gc\*=debug`}, 0},
	{"7. What was the JVM doing just before", []string{`(?m)^saving `, `(?m)\[debug\]`}, 0},
	{"8. Which heap", []string{`(?m)^- No heap size is recommended: `}, 0},
	{"9. What do I send", []string{`(?m)^NOT COMPLETE: gc\.log: gaps: \d+, of \d+ lines`}, 0},
	{"10. Who stalled", []string{`(?m) gc\.log +jvm-stalled +ended=\S+ seconds=\d+\.\d{3} verdict=[a-z]+`}, 0},
	{"11. What killed", []string{`(?m) gc\.log +jvm-ended +pid=\d+ how=killed( signal=SIGKILL)? why="SIGKILL.*MiB in use after a collection`}, 0},
	{"12. Which of the pods", []string{`(?m)^Comparison of 3 logs`, `(?m)^.*pod-2 `}, 0},
}

// The indexes of questions that need something to happen first.
const (
	beforeItHappened = 6 // needs a sidecar that withholds lines
	whoStalled       = 9
	whatKilled       = 10
)

// TestQuestionsOfAnIncident asks the questions of docs/incident.md with the commands on the page. The log has
// HotSpot's default decorators. The sidecar and the JVM are killed and start again, and a frozen disk causes a gap.
// The seventh question is asked of a sidecar that withholds lines, while the JVM logs at the level to which the
// command of the sixth question has raised it.
func TestQuestionsOfAnIncident(t *testing.T) {
	needRoot(t)
	i := newIncident(t)
	at := time.Now().Add(3 * time.Second)
	first := i.java("gc*", "Incident", "60000")
	time.Sleep(time.Until(at))
	lab.Eventually(t, patience, "the first JVM's long pause is persisted", func() bool {
		logs, _ := i.ask("ullage logs --since 1h")
		return matches(logs, answers[1].want)
	})
	i.side.Kill()
	i.runs()
	time.Sleep(time.Second)
	first.Kill()

	thaw := i.v.freeze()
	dropping := func() bool {
		n, err := i.side.Metric(`ullage_dropped_lines_total{level="trace",reason="discard",stream="` + stream + `"}`)
		return err == nil && n > 0
	}
	lab.Eventually(t, patience, "the sidecar drops lines", func() bool {
		// One start exhausts the budget if the sidecar has no time to compress what it holds.
		second := i.java("all=trace", "Incident", "1")
		if err := second.Wait(patience); err != nil {
			t.Fatal(err)
		}
		return dropping()
	})
	thaw()
	last := i.java("gc*", "Incident", "600000")
	defer last.Kill()
	third, marked := regexp.MustCompile(answers[3].want[2]), regexp.MustCompile(answers[2].want[1])
	var out string
	defer func() {
		if t.Failed() {
			t.Logf("ullage check:\n%s\nthe sidecar:\n%s", out, i.side.Stderr())
		}
	}()
	lab.Eventually(t, patience, "the third JVM's lines are persisted", func() bool {
		out, _ = i.ask("ullage check")
		return third.MatchString(out)
	})
	lab.Eventually(t, patience, "a full collection is persisted", func() bool {
		lines, _ := i.ask("ullage logs")
		return strings.Contains(lines, "Pause Full")
	})
	lab.Eventually(t, patience, "a JVM is marked", func() bool {
		marks, _ := i.ask("ullage logs --marks")
		return marked.MatchString(marks)
	})

	questions := incidentPage(t)
	if len(questions) != len(answers) {
		t.Fatalf("the page has %d questions, want %d", len(questions), len(answers))
	}
	for n, want := range answers {
		t.Run(want.title, func(t *testing.T) {
			q := questions[n]
			if !strings.HasPrefix(q.title, want.title) {
				t.Fatalf("the page asks %q, want a question that begins with %q", q.title, want.title)
			}
			switch n {
			case beforeItHappened:
				at = i.withholds()
			case whoStalled:
				i.stalls(last)
			case whatKilled:
				i.kills(last)
			}
			command := strings.ReplaceAll(q.command, "16:45", at.Format("15:04:05"))
			if strings.Contains(command, "pods/*") {
				command = strings.ReplaceAll(command, "pods/*", i.pods()+"/*")
			}
			out, status := i.ask(command)
			for end := time.Now().Add(patience); n == beforeItHappened && !matches(out, want.want) && time.Now().Before(end); {
				out, status = i.ask(command) // saved lines become durable a moment later
			}
			if status != want.status || !matches(out, want.want) {
				t.Errorf("exit status %d, want %d and output that matches %q:\n%s\n%.4000s", status, want.status, want.want, command, out)
			}
		})
	}
}

func matches(out string, all []string) bool {
	return !slices.ContainsFunc(all, func(one string) bool { return !regexp.MustCompile(one).MatchString(out) })
}

// withholds replaces the sidecar with one that withholds lines. It waits until lines are withheld and
// returns the time.
func (i *incident) withholds() time.Time {
	i.Helper()
	i.side.Kill()
	i.runs("--persist-level", "info")
	lab.Eventually(i, patience, "lines are withheld", func() bool {
		n, err := i.side.Metric(`ullage_hindsight_withheld_lines_total{level="debug",stream="` + stream + `"}`)
		return err == nil && n > 0
	})
	return time.Now()
}

// stalls stops and continues a JVM until one of its pauses has been marked as a stall. A stopped process uses no CPU
// time, so a pause that contains the stop looks like a stall.
func (i *incident) stalls(j *jvm.Process) {
	i.Helper()
	lab.Eventually(i, patience, "a stall is marked", func() bool {
		i.must(syscall.Kill(j.PID(), syscall.SIGSTOP))
		time.Sleep(300 * time.Millisecond)
		i.must(syscall.Kill(j.PID(), syscall.SIGCONT))
		return i.marked("jvm-stalled")
	})
}

// kills kills a JVM that the sidecar knows, and waits until its end is marked.
func (i *incident) kills(j *jvm.Process) {
	i.Helper()
	lab.Eventually(i, patience, "the present sidecar knows the JVM", func() bool {
		marks, _ := i.ask("ullage logs --marks")
		return strings.LastIndex(marks, " jvm-seen ") > strings.LastIndex(marks, " sidecar-started ")
	})
	j.Kill()
	lab.Eventually(i, patience, "the end is marked", func() bool { return i.marked("jvm-ended") })
}

// marked reports whether the durable copy has a mark of the kind.
func (i *incident) marked(kind string) bool {
	marks, _ := i.ask("ullage logs --marks")
	return strings.Contains(marks, " "+kind+" ")
}

// pods returns a directory with copies of the durable copy, as if they were from three pods.
func (i *incident) pods() string {
	i.Helper()
	dir := i.TempDir()
	for _, pod := range []string{"pod-0", "pod-1", "pod-2"} {
		i.must(os.CopyFS(filepath.Join(dir, pod), os.DirFS(i.dest)))
	}
	return dir
}

// incident is a source, a disk that can freeze, and the sidecar between them.
type incident struct {
	*testing.T
	v            *volume
	source, dest string
	side         *lab.Sidecar
	jdk          lab.JDK
	classes      string
}

func newIncident(t *testing.T) *incident {
	t.Helper()
	jdks := lab.NeedsJDKs(t)
	i := &incident{T: t, v: newVolumeOf(t, "1G"), source: lab.Tmpfs(t, "64m"), jdk: jdks[0]}
	i.dest = filepath.Join(i.v.Dir, "dest")
	i.classes = i.jdk.Classes(t, filepath.Join("testdata", "Incident.java"))
	i.runs()
	return i
}

func (i *incident) must(err error) {
	i.Helper()
	if err != nil {
		i.Fatal(err)
	}
}

// runs starts a sidecar with a budget that the start of one JVM exhausts.
func (i *incident) runs(flags ...string) {
	i.Helper()
	i.side = lab.Run(i, i.source, i.dest, append(flags, "--budget", "2Mi")...)
	if _, err := i.side.Addr(patience); err != nil {
		i.Fatal(err)
	}
}

// java starts a JVM with HotSpot's default decorators.
func (i *incident) java(selection string, args ...string) *jvm.Process {
	i.Helper()
	log := "-Xlog:" + selection + ":file=" + filepath.Join(i.source, stream) + "::filecount=1,filesize=0"
	p, err := jvm.Start(i.jdk, append([]string{log, "-XX:+UseSerialGC", "-Xmx400m", "-XX:+StartAttachListener", "-cp", i.classes}, args...)...)
	if err != nil {
		i.Fatal(err)
	}
	i.Cleanup(p.Kill)
	return p
}

// ask runs a command in a shell with the settings of the sidecar's container and returns its output and exit status.
func (i *incident) ask(command string) (out string, status int) {
	i.Helper()
	addr, err := i.side.Addr(patience)
	if err != nil {
		i.Fatal(err)
	}
	cmd := exec.Command("bash", "-o", "pipefail", "-c", command)
	cmd.Dir = i.TempDir() // for the files that a command writes
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(lab.Binary())+":"+os.Getenv("PATH"),
		"ULLAGE_SOURCE="+i.source, "ULLAGE_DEST="+i.dest, "ULLAGE_ADDR="+addr)
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		i.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// question is a question of the page with the command that answers it.
type question struct{ title, command string }

func incidentPage(t *testing.T) (all []question) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "incident.md"))
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile("(?s)^([^\n]+)\n\n```sh\n(.*?)```")
	for _, part := range bytes.Split(text, []byte("\n## "))[1:] {
		found := command.FindSubmatch(part)
		if found == nil {
			t.Fatalf("no command follows %.60q, want one", part)
		}
		all = append(all, question{string(found[1]), string(found[2])})
	}
	return all
}
