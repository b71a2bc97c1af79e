package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

// place is an environment of an application whose appender has only the settings in java/README.md.
type place struct {
	name  string
	setup func(t *testing.T) (source, events string) // the sidecar's source ("": no sidecar), and ULLAGE_EVENTS
	rate  int                                        // orders a millisecond
	late  bool                                       // the sidecar starts after the application's end, so that the ring fills up
	says  string                                     // what the application says about its ring
}

var places = []place{
	{"with a ring", func(t *testing.T) (string, string) {
		source := lab.Tmpfs(t, "16m")
		return source, source
	}, 5, false, ""},
	{"in a flood", func(t *testing.T) (string, string) {
		source := lab.Tmpfs(t, "64m")
		return source, source + ",size=256Ki,wait=off"
	}, 1 << 30, true, ""},
	{"without a ring", func(t *testing.T) (string, string) { return "", "" }, 1 << 30, false, ""},
	{"without the directory", func(t *testing.T) (string, string) { return "", filepath.Join(t.TempDir(), "missing") }, 1 << 30, false, "NoSuchFileException"},
	{"with eight rings", func(t *testing.T) (string, string) {
		dir := t.TempDir()
		for n := range 8 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("events-%d-1763722140123.ring", n)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return "", dir
	}, 1 << 30, false, "has 8 rings already"},
	{"with a full tmpfs", func(t *testing.T) (string, string) { return "", lab.Tmpfs(t, "1m") }, 1 << 30, false, "No space left on device"},
}

// TestAnApplicationAlwaysHasALog runs Spring Boot with the settings of Java's README in each place, and runs other
// versions with and without a ring. Each order is a line of the log (of the console if there is no ring), or is
// counted as refused.
func TestAnApplicationAlwaysHasALog(t *testing.T) {
	const orders = 20_000
	jdk := lab.NeedsJDKs(t)[0]
	settings := filepath.Join(t.TempDir(), "logback-spring.xml")
	if err := os.WriteFile(settings, []byte(block(t, "../../java/README.md", "<configuration>")), 0o600); err != nil {
		t.Fatal(err)
	}
	for version, n := range map[string]int{"3.5.8": len(places), "2.7.18": 3, "4.0.0": 3} {
		jars := boot(t, version)
		for _, p := range places[:n] {
			t.Run(version+" "+p.name, func(t *testing.T) {
				source, events := p.setup(t)
				dest := t.TempDir()
				start := func() *lab.Sidecar { return lab.Run(t, source, dest, "--sync-interval", "200ms") }
				var side *lab.Sidecar
				if source != "" && !p.late {
					side = start()
				}
				shown := p.run(t, jdk, jars, settings, events, orders)
				if p.late {
					side = start()
				}
				if strings.Count(shown, "there is no ring for events") != min(len(p.says), 1) || !strings.Contains(shown, p.says) {
					t.Errorf("want the application to report %q about its ring and nothing else, got:\n%.2000s", p.says, shown)
				}
				if side == nil {
					if found := len(paid.FindAllString(shown, -1)); found != orders {
						t.Errorf("the console has %d orders, want %d", found, orders)
					}
					return
				}
				found, counted := 0, 0
				lab.Eventually(t, patience, "each order is a line or is counted as refused", func() bool {
					found, counted = lines(t, dest), refused(t, side)
					return found+counted == orders
				})
				if counted > 0 != p.late {
					t.Errorf("%d orders are counted as refused and %d are lines, want refused orders: %t", counted, found, p.late)
				}
				if err := side.Stop(patience); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// boot returns the directory with the application and the libraries of a version of Spring Boot.
func boot(t *testing.T, version string) string {
	t.Helper()
	const usual = "3.5.8"
	if version == usual {
		return jarsOf(t, "../spring")
	}
	dir := filepath.Join(t.TempDir(), "spring-"+version)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pom.xml", "Orders.java"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), bytes.ReplaceAll(text, []byte(usual), []byte(version)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return jarsOf(t, dir)
}

func jarsOf(t *testing.T, dir string) string {
	t.Helper()
	jars, err := lab.Jars(dir, t.Logf, "--release", "17")
	if err != nil {
		t.Fatal(err)
	}
	return jars
}

// run lets the application log its orders. It returns what the application shows.
func (p *place) run(t *testing.T, jdk lab.JDK, jars, settings, events string, orders int) string {
	t.Helper()
	cmd := exec.Command(jdk.Java(), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m",
		"-cp", strings.Join(append([]string{jars, filepath.Join(jars, "*")}, ours(t)...), ":"),
		"Orders", "--logging.config="+settings, "--spring.main.banner-mode=off", "--count="+filepath.Join(t.TempDir(), "count"),
		"--rate="+strconv.Itoa(p.rate), "--orders="+strconv.Itoa(orders))
	if events != "" {
		cmd.Env = append(os.Environ(), "ULLAGE_EVENTS="+events)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// lines returns how many orders were persisted.
func lines(t *testing.T, dest string) int {
	t.Helper()
	out, err := exec.Command(lab.Binary(), "logs", dest).CombinedOutput()
	if err != nil && !bytes.Contains(out, []byte("nothing is persisted")) && !bytes.Contains(out, []byte("holds no streams")) { // yet
		t.Fatalf("%v\n%s", err, out)
	}
	return len(paid.FindAll(out, -1))
}

var dropped = regexp.MustCompile(`(?m)^ullage_events_dropped_total\{[^}]*level="info"[^}]*\} (\d+)$`)

// refused returns how many orders the ring has refused, by the sidecar's count. Spring's own lines come before any
// refusal.
func refused(t *testing.T, side *lab.Sidecar) (n int) {
	t.Helper()
	_, body, err := side.Get("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range dropped.FindAllStringSubmatch(body, -1) {
		one, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		n += one
	}
	return n
}
