package main

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

//go:embed app
var appSources embed.FS

// application has the experiments with Java's logging libraries and the ring.
type application struct {
	*evidence
	classpath string // with the compiled programs
}

// compileApplication compiles the Java programs against the jars of make java and the
// libraries that the jars' tests use.
func compileApplication(e *evidence) (a application, err error) {
	out, err := exec.CommandContext(e.ctx, "java/libraries.sh").Output()
	if err != nil {
		return a, fmt.Errorf("find the logging libraries: %w", err)
	}
	dir := filepath.Join(e.shm, "application")
	if err := os.CopyFS(dir, appSources); err != nil && !errors.Is(err, os.ErrExist) {
		return a, err
	}
	dir = filepath.Join(dir, "app")
	jars, err := filepath.Abs("bin/java")
	if err != nil {
		return a, err
	}
	libraries := strings.TrimSpace(string(out))
	paths := []string{dir, filepath.Join(jars, "ullage-log.jar"), filepath.Join(jars, "ullage-logback.jar")}
	for _, pattern := range []string{"logback-*.jar", "slf4j-*.jar", "log4j-*.jar", "HdrHistogram-*.jar"} {
		found, err := filepath.Glob(filepath.Join(libraries, pattern))
		if err != nil {
			return a, err
		}
		paths = append(paths, found...)
	}
	a = application{e, strings.Join(paths, ":")}
	return a, run(e.jdks[0].Javac(), "-proc:none", "-cp", a.classpath, "-d", dir, filepath.Join(dir, "Fly.java"), filepath.Join(dir, "Apps.java"), filepath.Join(dir, "Million.java"), filepath.Join(dir, "Stopped.java"))
}

// ofApplication turns an experiment with applications into an experiment of this program.
func ofApplication(run func(application) (*experiment, error)) func(*evidence) (*experiment, error) {
	return func(e *evidence) (*experiment, error) {
		a, err := compileApplication(e)
		if err != nil {
			return nil, err
		}
		return run(a)
	}
}

// java returns a command that runs a program of this package on the newest JDK. Its events go to
// the source of the place.
func (a application) java(p place, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(a.ctx, a.jdks[len(a.jdks)-1].Java(), append([]string{"-Xms256m", "-Xmx256m",
		"-Dlog4j2.configurationFile=" + filepath.Join(a.shm, "application/app/log4j2.xml"), "-Devidence.out=" + filepath.Join(p.dest, "app.log"),
		"-cp", a.classpath}, args...)...)
	cmd.Env = append(os.Environ(), "ULLAGE_EVENTS="+p.source)
	return cmd
}

// pairs parses the key=value pairs in the last line of an output.
func pairs(out string) (figures, error) {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	f := figures{}
	for pair := range strings.FieldsSeq(lines[len(lines)-1]) {
		key, text, _ := strings.Cut(pair, "=")
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("no figures in:\n%s", out)
		}
		f[key] = v
	}
	return f, nil
}

// events measures the cost of one event.
func (a application) events() (*experiment, error) {
	x := &experiment{
		Name: "events", Title: "An event, as the thread that logs it sees it", Plot: "mean",
		Question: "What does a flyweight event cost the application's thread?",
		Method: "One thread logs bursts of 1,000 events; between two bursts, the reader of the events catches up. Half of the bursts are timed as a whole (mean). " +
			"In the other half each event is timed, which adds two calls of `System.nanoTime`; the first row shows what those cost. Half of the run is warm-up. The ring is taken by a sidecar.",
		Threat: "Bursts fit every buffer, so no row shows what happens when one is full. The consumer of a queue or a ring takes a core of its own, where there is one more.",
		Columns: []column{{"mean", "mean, ns"}, {"p50", "p50, ns"}, {"p99", "p99, ns"}, {"p999", "p99.9, ns"}, {"p9999", "p99.99, ns"},
			{"bytes", "bytes allocated"}, {"dropped", "dropped"}},
	}
	var all []entry
	for _, kind := range []struct{ name, arg string }{
		{"System.nanoTime alone", "nanoTime"}, {"ring, a number", "ring"}, {"ring, a number and a string", "ring, text"},
		{"JFR event, a number", "jfr"}, {"JFR event, a number and a string", "jfr, text"}, {"Log4j 2, Async of 65,536", "log4j2"},
	} {
		all = append(all, entry{kind.name, func() (figures, error) { return a.fly(kind.arg) }})
	}
	return x, a.inTurn(x, all)
}

func (a application) fly(kind string) (figures, error) {
	c := a.sidecar("events", "zstd")
	p, err := a.place(c, "")
	if err != nil {
		return nil, err
	}
	defer p.remove()
	s, err := c.start(a.ctx, p)
	if err != nil {
		return nil, err
	}
	defer s.Kill()
	out, err := a.java(p, "Fly", kind, filepath.Join(p.state, "events.jfr")).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("run the JVM: %w\n%s", err, out)
	}
	return pairs(string(out))
}

// appender is a way for an application to log.
type appender struct {
	name, spec string
	shipped    bool // true: it logs to a tmpfs, with a sidecar; false: to the disk
}

var appenders = []appender{
	{"file on the disk", "file", false},
	{"AsyncAppender, queue 256, discarding", "async:256:discard", false},
	{"AsyncAppender, queue 4,096, discarding", "async:4096:discard", false},
	{"AsyncAppender, queue 65,536, discarding", "async:65536:discard", false},
	{"AsyncAppender, queue 256, waiting", "async:256:wait", false},
	{"Log4j 2, Async, discarding", "log4j2:discard", false},
	{"Log4j 2, Async, waiting", "log4j2:wait", false},
	{"file on tmpfs + ullage", "file", true},
	{"ring + ullage", "ring", true},
	{"ring that waits + ullage", "ring:wait", true},
}

// trial is a load on an appender.
type trial struct {
	threads, rate int // 0: as fast as possible
	freeze        time.Duration
	kill          bool // the JVM is killed by kill -9 while it logs
}

// try runs every appender with each number of threads once in a round.
func (a application) try(x *experiment, t trial, threads ...int) (*experiment, error) {
	x.Columns = []column{{"ops", "events/s"}, {"longest", "longest call, ms"}, {"written", "events"}, {"lost", "lost"}, {"share", "lost, %"}, {"severe", "lost at warning or above"}}
	if t.freeze > 0 && os.Geteuid() != 0 {
		x.NotRun = onlyRoot
		return x, nil
	}
	var all []entry
	for _, t.threads = range threads {
		for _, by := range appenders {
			name, how := by.name, t
			if len(threads) > 1 {
				name = fmt.Sprintf("%s%s%d", name, threadsMark, t.threads)
			}
			all = append(all, entry{name, func() (figures, error) { return a.apply(by, how) }})
		}
	}
	return x, a.inTurn(x, all)
}

const appMethod = "An application logs 1 %% errors, 4 %% warnings, 35 %% infos, 60 %% debugs by Logback or Log4j 2 (%s). Its own counts are compared with the lines found at the end, on the disk or in the sidecar's segments."

// speed, frozenDisk and killed are experiments with all appenders.
func (a application) speed() (*experiment, error) {
	return a.try(&experiment{
		Name: "speed", Title: "Application logging at full speed", Plot: "ops",
		Question: "How many events a second does each way to log take, and how many does it lose?",
		Method:   fmt.Sprintf(appMethod, "every thread as fast as it can, for 3 s"),
		Threat: "No application logs at full speed. The more events an appender throws away, the more events a second it takes. The ring has its default size, 4 MiB, which is full within milliseconds " +
			"while it is not read; one row has `wait=trace:60000ms`; the sidecar's markers count by level what it could not hold. Threads and consumers share the cores, so the longest call has waits for a CPU in it.",
	}, trial{}, 1, 2, 50)
}

func (a application) frozenDisk() (*experiment, error) {
	return a.try(&experiment{
		Name: "stalled", Title: "Application logging while the disk is frozen", Plot: "longest",
		Question: "What does a frozen disk do to the application's threads and to its log?",
		Method:   fmt.Sprintf(appMethod, "two threads, 20,000 events/s in all") + " The disk is frozen for 5 of 8 s.",
		Threat:   "A thread that had to wait logs afterwards what was due meanwhile, so its events a second do not show the wait; the longest call does.",
	}, trial{rate: 20_000, freeze: 5 * time.Second}, 2)
}

func (a application) killed() (*experiment, error) {
	return a.try(&experiment{
		Name: "killed", Title: "Application logging until `kill -9`", Plot: "lost",
		Question: "Which events are lost with the JVM?",
		Method:   fmt.Sprintf(appMethod, "two threads, 20,000 events/s in all, for 3 s") + " Then `kill -9` hits the JVM while its threads log. Each thread keeps its count in a file on the tmpfs that outlives the JVM; an event is counted when its call has returned.",
		Threat:   "A queue loses what it holds at the moment of the kill, which is little while the disk is fast, and one that discards has lost what did not fit before. The machine goes on: what the kernel holds for a file is not lost with the process.",
	}, trial{rate: 20_000, kill: true}, 2)
}
