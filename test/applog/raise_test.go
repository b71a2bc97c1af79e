package applog

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

var round = regexp.MustCompile(`\] (com\S+) round (\d+)`)

// TestRaisesByLogger raises loggers of a running JVM by the annotation, one after the other. The third logger is off
// and stays off.
func TestRaisesByLogger(t *testing.T) {
	jars, err := lab.Jars(".", t.Logf, "--release", "17")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := filepath.Glob("../../bin/java/ullage-log*.jar")
	if err != nil || len(ours) < 3 {
		t.Fatalf("the jars are %q, error %v; want at least 3: run make java first", ours, err)
	}
	path := strings.Join(append(ours, jars, filepath.Join(jars, "*")), ":")
	for _, jdk := range lab.NeedsJDKs(t) {
		for library, setting := range map[string]string{"logback": "-Dlogback.configurationFile=testdata/logback-ring.xml", "log4j": "-Dlog4j2.configurationFile=testdata/log4j2-ring.xml"} {
			t.Run(library+" on "+jdk.String(), func(t *testing.T) {
				source, dest := lab.Tmpfs(t, "16m"), t.TempDir()
				annotations := filepath.Join(t.TempDir(), "annotations")
				ask := func(what string) {
					t.Helper()
					if err := os.WriteFile(annotations, []byte(lab.DownwardFile(map[string]string{"ullage.dev/app-log": what})), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				ask("com.acme=debug")
				side := lab.Run(t, source, dest, "--sync-interval", "200ms", "--annotations", annotations)
				cmd := exec.Command(jdk.Java(), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m", "-Dullage.events="+source, setting, "-cp", path, "Raised", library)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				defer func() {
					_ = cmd.Process.Kill()
					_ = cmd.Wait() // the error is the kill
				}()
				first, last := map[string]int{}, map[string]int{}
				shows := func(logger string) {
					t.Helper()
					lab.Eventually(t, patience, "the first round of "+logger, func() bool {
						rounds(t, dest, first, last)
						return first[logger] > 0
					})
				}
				shows("com.acme.Db")
				if len(first) != 1 {
					t.Errorf("with com.acme=debug, the first rounds are %v, want those of 1 logger", first)
				}
				ask("com.other=debug, com.acme.wire=trace")
				shows("com.other.Db")
				if len(first) != 2 || last["com.acme.Db"] > first["com.other.Db"] {
					t.Errorf("the first rounds are %v, the last ones are %v; want 2 loggers, and the last round of com.acme.Db not after the first of com.other.Db", first, last)
				}
				if err := side.Stop(patience); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// rounds records the first and the last persisted round of each logger.
func rounds(t *testing.T, dest string, first, last map[string]int) {
	t.Helper()
	out, err := exec.Command(lab.Binary(), "logs", dest).CombinedOutput()
	if err != nil && !strings.Contains(string(out), "is persisted") && !strings.Contains(string(out), "holds no streams") { // nothing yet
		t.Fatalf("%v\n%s", err, out)
	}
	for _, m := range round.FindAllStringSubmatch(string(out), -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		if first[m[1]] == 0 {
			first[m[1]] = n
		}
		last[m[1]] = max(last[m[1]], n)
	}
}
