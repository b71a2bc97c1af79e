package applog

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

func TestMain(m *testing.M) { lab.Main(m) }

const patience = lab.Patience

// application is a program that logs a Scenario with a library.
type application struct {
	name     string
	class    string
	without  string // the jars that the class path lacks
	settings string // name of a file of settings in docs/application.md or testdata
	change   []string
	flags    func(settings string) (jvm, program []string)
	streams  map[string]string // the streams that it writes, with their formats
	undated  bool              // its lines have no date, or one without a zone
}

func property(name string) func(string) (jvm, program []string) {
	return func(settings string) (jvm, program []string) {
		return []string{"-D" + name + "=" + settings}, nil
	}
}

func spring(settings string) (jvm, program []string) {
	return nil, []string{"--spring.config.location=file:" + settings, "--spring.main.banner-mode=off"}
}

var applications = []application{
	{name: "logback", class: "Slf4j", settings: "logback.xml", change: []string{`"info"`, `"trace"`},
		flags: property("logback.configurationFile"), streams: map[string]string{"logback.log": "pattern"}},
	{name: "logback-default", class: "Slf4j", settings: "logback.xml", change: []string{`"info"`, `"trace"`, "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "HH:mm:ss.SSS"},
		flags: property("logback.configurationFile"), streams: map[string]string{"logback-default.log": "pattern"}, undated: true},
	{name: "logback-json", class: "Slf4j", settings: "testdata/logback.xml",
		flags: property("logback.configurationFile"), streams: map[string]string{"logback-json.log.logstash": "json", "logback-json.log.ecs": "json"}},
	{name: "log4j", class: "Log4j", settings: "log4j2.xml", change: []string{`"info"`, `"trace"`},
		flags: property("log4j2.configurationFile"), streams: map[string]string{"log4j.log": "pattern"}},
	{name: "log4j-json", class: "Log4j", settings: "testdata/log4j2.xml",
		flags: property("log4j2.configurationFile"),
		streams: map[string]string{"log4j-json.log.ecs": "json", "log4j-json.log.gelf": "json", "log4j-json.log.logstash": "json", "log4j-json.log.json": "json",
			"log4j-json.log.color": "pattern"}},
	{name: "spring", class: "Spring", without: "log4j-", settings: "application.properties", change: []string{"root=info", "root=info\nlogging.level.com.example=trace"},
		flags: spring, streams: map[string]string{"spring.log": "pattern"}},
	{name: "spring-json", class: "Spring", without: "log4j-", settings: "application.properties",
		change: []string{"root=info", "root=info\nlogging.level.com.example=trace\nlogging.structured.format.file=ecs"}, flags: spring, streams: map[string]string{"spring-json.log": "json"}},
	{name: "spring-xml", class: "Spring", without: "log4j-", settings: "logback-spring.xml", change: []string{`"info"`, `"trace"`, "${LOG_FILE}", "/var/log/jvm/app.log"},
		flags: func(settings string) (jvm, program []string) {
			return nil, []string{"--logging.config=" + settings, "--spring.main.banner-mode=off"}
		}, streams: map[string]string{"spring-xml.log": "pattern"}},
	{name: "jul", class: "Jul", settings: "logging.properties", change: []string{".level=INFO", ".level=ALL", "java.util.logging.SimpleFormatter.format", "none"},
		flags: property("java.util.logging.config.file"), streams: map[string]string{"jul.log": "jul"}, undated: true},
	{name: "jul-one-line", class: "Jul", settings: "logging.properties", change: []string{".level=INFO", ".level=ALL"},
		flags: property("java.util.logging.config.file"), streams: map[string]string{"jul-one-line.log": "pattern"}},
}

// TestSettings runs real libraries with the settings of docs/application.md and others. It checks the level and the
// time of each persisted line.
func TestSettings(t *testing.T) {
	jars, err := lab.Jars(".", t.Logf, "--release", "17")
	if err != nil {
		t.Fatal(err)
	}
	jdks := lab.NeedsJDKs(t)
	for _, jdk := range jdks {
		t.Run(jdk.String(), func(t *testing.T) {
			source, dest := lab.Tmpfs(t, "16m"), t.TempDir()
			side := lab.Run(t, source, dest, "--sync-interval", "200ms", "--match", "*.log*")
			begin := time.Now().Add(-time.Second)
			for _, app := range applications {
				app.run(t, jdk, jars, source)
			}
			for _, app := range applications {
				for stream, format := range app.streams {
					app.read(t, dest, stream, format, begin)
				}
			}
			if err := side.Stop(patience); err != nil {
				t.Error(err)
			}
			if t.Failed() {
				t.Logf("ullage said:\n%s", side.Stderr())
			}
		})
	}
}

// run runs the application, which logs into the source.
func (app *application) run(t *testing.T, jdk lab.JDK, jars, source string) {
	t.Helper()
	text := strings.NewReplacer(app.change...).Replace(settings(t, app.settings))
	text = strings.ReplaceAll(text, "/var/log/jvm/app.log", filepath.Join(source, app.name+".log"))
	path := filepath.Join(t.TempDir(), filepath.Base(app.settings))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob(filepath.Join(jars, "*.jar"))
	if err != nil {
		t.Fatal(err)
	}
	if app.without != "" {
		all = slices.DeleteFunc(all, func(jar string) bool { return strings.HasPrefix(filepath.Base(jar), app.without) })
	}
	jvm, program := app.flags(path)
	args := slices.Concat([]string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m", "-Duser.language=en", "-Duser.timezone=Asia/Kolkata",
		"-cp", strings.Join(append(all, jars), ":")}, jvm, []string{app.class}, program)
	var out bytes.Buffer
	cmd := exec.Command(jdk.Java(), args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", app.name, err, out.Bytes())
	}
}

// settings returns the settings file of the given name, from docs/application.md or testdata.
func settings(t *testing.T, name string) string {
	t.Helper()
	if strings.Contains(name, "/") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	page, err := os.ReadFile("../../docs/application.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```[a-z]+\n((?:<!--|#) " + regexp.QuoteMeta(name) + ".*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatalf("docs/application.md has no %s", name)
	}
	return string(block[1])
}

// last is the last line of a Scenario.
const last = "at info: the end"

// line is a line as `ullage logs --json` prints it.
type line struct {
	Time  time.Time
	Level string
	Text  string
}

var (
	marker = regexp.MustCompile(`at (trace|debug|info|warning|error): `)
	ofJUL  = regexp.MustCompile(`^[A-Z][a-z]{2} \d+, \d{4} .* Jul\b`)
)

// read reads the persisted lines of a stream and checks the level and time of each line.
func (app *application) read(t *testing.T, dest, stream, format string, begin time.Time) {
	t.Helper()
	var lines []line
	lab.Eventually(t, patience, "the last line of "+stream, func() bool {
		lines = cat(t, dest, stream)
		return slices.ContainsFunc(lines, func(l line) bool { return strings.Contains(l.Text, last) })
	})
	levels := map[string]int{}
	want := ""
	for i, l := range lines {
		shows := l.Text
		if ofJUL.MatchString(shows) && i+1 < len(lines) {
			shows = lines[i+1].Text
		}
		if m := marker.FindStringSubmatch(shows); m != nil {
			if want = m[1]; want == "trace" && strings.HasSuffix(stream, ".gelf") {
				want = "debug" // the lowest severity of syslog
			}
			if shows == l.Text {
				levels[m[1]]++
			}
		}
		if want != "" && l.Level != want {
			t.Errorf("%s: line %d has level %q, want %q: %s", stream, i+1, l.Level, want, l.Text)
		}
		if want != "" && !app.undated && (l.Time.Before(begin) || l.Time.After(time.Now().Add(time.Second))) {
			t.Errorf("%s: line %d has the time %s, want a time from %s to at most 1 s from now: %s", stream, i+1, l.Time, begin, l.Text)
		}
		if t.Failed() {
			return
		}
		if strings.Contains(l.Text, last) {
			break // Spring Boot logs more lines after it
		}
	}
	if len(levels) != 5 || levels["error"] != 20 {
		t.Errorf(`%s: the records by level are wrong, want 5 levels and 20 records at error: %v`, stream, levels)
	}
	if only := cat(t, dest, stream, "--format", stream+"="+format); !slices.Equal(only, lines) {
		t.Errorf("%s: with --format %s, the lines differ, want the same as without it", stream, format)
	}
}

// cat returns the lines of a stream.
func cat(t *testing.T, dest, stream string, flags ...string) (lines []line) {
	t.Helper()
	out, err := exec.Command(lab.Binary(), append(append([]string{"logs", "--json", "--stream", stream}, flags...), dest)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for text := range bytes.Lines(out) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	return lines
}
