package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

func TestMain(m *testing.M) { lab.Main(m) }

const patience = lab.Patience

// way is a way for an application's lines to get onto the tmpfs.
type way struct {
	name string
	ring bool
	file string // the file of the settings, and the argument that names it
	flag string
	text func(t *testing.T, source string) string
}

// The ways: no dependency and a file on the tmpfs, or one dependency and five lines of XML.
var ways = []way{
	{"file", false, "application.properties", "--spring.config.location=file:", func(t *testing.T, source string) string {
		return strings.ReplaceAll(block(t, "../../docs/application.md", "# application.properties"), "/var/log/jvm", source)
	}},
	{"ring", true, "logback-spring.xml", "--logging.config=", func(t *testing.T, _ string) string {
		return block(t, "../../java/README.md", "<configuration>")
	}},
}

// block returns the block of a page that begins with a given line.
func block(t *testing.T, page, first string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```[a-z]+\n(" + regexp.QuoteMeta(first) + "\n.*?)```").FindSubmatch(text)
	if m == nil {
		t.Fatalf("%s has no block that begins with %s", page, first)
	}
	return string(m[1])
}

// TestLinesOfAKilledApplication kills a Spring Boot application while it logs. Each line whose log.info() has
// returned is persisted once, in order.
func TestLinesOfAKilledApplication(t *testing.T) {
	jars := jarsOf(t, "../spring")
	jdks := lab.NeedsJDKs(t)
	for _, way := range ways {
		for _, jdk := range jdks {
			t.Run(way.name+" on "+jdk.String(), func(t *testing.T) {
				source, dest := lab.Tmpfs(t, "16m"), t.TempDir()
				side := lab.Run(t, source, dest, "--sync-interval", "200ms")
				returned := way.run(t, jdk, jars, source)
				lab.Eventually(t, patience, "the last line", func() bool {
					_, last := orders(t, dest)
					return last >= returned
				})
				if err := side.Stop(patience); err != nil {
					t.Error(err)
				}
				found, last := orders(t, dest)
				t.Logf("log.info() had returned from %d lines, %d are persisted", returned, found)
				if found != last || last > returned+1 {
					t.Errorf("%d lines up to number %d, want each up to %d, and perhaps one more", found, last, returned)
				}
			})
		}
	}
}

// The pods of test/e2e have the settings of Java's README.
func TestTheImageHasTheSettingsOfTheREADME(t *testing.T) {
	text, err := os.ReadFile("logback-spring.xml")
	if want := block(t, "../../java/README.md", "<configuration>"); err != nil || string(text) != want {
		t.Errorf("logback-spring.xml is\n%s\nerror %v, want\n%s", text, err, want)
	}
}

// ours returns the jars that Java's README names.
func ours(t *testing.T) []string {
	t.Helper()
	const pattern = "../../bin/java/ullage-log*.jar"
	jars, err := filepath.Glob(pattern)
	if err != nil || len(jars) < 2 {
		t.Fatalf("%s: %q, %v: run make java first, want at least 2", pattern, jars, err)
	}
	return jars
}

// run starts the application, kills it with kill -9 after some thousand lines, and returns for how many lines
// log.info() had returned.
func (w way) run(t *testing.T, jdk lab.JDK, jars, source string) (returned int) {
	t.Helper()
	dir := t.TempDir()
	settings, count := filepath.Join(dir, w.file), filepath.Join(dir, "count")
	if err := os.WriteFile(settings, []byte(w.text(t, source)), 0o600); err != nil {
		t.Fatal(err)
	}
	path := []string{jars, filepath.Join(jars, "*")}
	if w.ring {
		path = append(path, ours(t)...)
	}
	var out bytes.Buffer
	cmd := exec.Command(jdk.Java(), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m", "-cp", strings.Join(path, ":"),
		"Orders", w.flag+settings, "--spring.main.banner-mode=off", "--count="+count, "--rate=5")
	cmd.Env = append(os.Environ(), "ULLAGE_EVENTS="+source)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	begun := func() int {
		text, err := os.ReadFile(count)
		if err != nil || len(text) < 8 {
			return 0 // not yet
		}
		return int(binary.LittleEndian.Uint64(text))
	}
	lab.Eventually(t, patience, "3,000 lines", func() bool { return begun() >= 3000 })
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // the error is the kill
	if out.Len() > 0 && w.ring {
		t.Errorf("the application said the following, want nothing:\n%s", out.Bytes())
	}
	return begun()
}

var paid = regexp.MustCompile(`(?m)order (\d+) is paid$`)

// orders returns how many lines were persisted, and the number of the last one. They must be in order.
func orders(t *testing.T, dest string) (found, last int) {
	t.Helper()
	text, err := exec.Command(lab.Binary(), "logs", dest).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range paid.FindAllSubmatch(text, -1) {
		n, err := strconv.Atoi(string(m[1]))
		if err != nil || n <= last {
			t.Fatalf("order %s comes after order %d, want ascending numbers", m[1], last)
		}
		found, last = found+1, n
	}
	return found, last
}
