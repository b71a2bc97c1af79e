package jvm

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

var update = flag.Bool("update", false, "write the table of docs/pods.md instead of comparing it")

var releases = []int{11, 17, 21, 25}

// differences lists which Java releases have which of the features that matter to ullage. A test checks each
// entry on a JVM of each release, and docs/pods.md has them in a table.
var differences = []struct {
	what string
	in   []int
	has  func(t *testing.T, jdk lab.JDK) bool
}{
	{"what the injector adds", releases, func(t *testing.T, jdk lab.JDK) bool {
		_, value := newStarts(t, jdk).injected(t, nil)
		return starting(t, jdk, "", strings.Fields(value)...) // the options are the same in JAVA_TOOL_OPTIONS, in JDK_JAVA_OPTIONS and on the command line
	}},
	{"all twelve decorators", releases, func(t *testing.T, jdk lab.JDK) bool {
		return starting(t, jdk, "", "-Xlog:gc:stdout:time,utctime,uptime,timemillis,uptimemillis,timenanos,uptimenanos,hostname,pid,tid,level,tags")
	}},
	{"`output_options` of `VM.log`, and outputs added and removed while the JVM runs", releases, addsOutput},
	{"`-Xlog:async`", releases[1:], func(t *testing.T, jdk lab.JDK) bool { return starting(t, jdk, "", "-Xlog:async") }},
	{"`foldmultilines` of an output", releases[2:], func(t *testing.T, jdk lab.JDK) bool {
		return starting(t, jdk, "", "-Xlog:gc:file="+filepath.Join(t.TempDir(), "gc.log")+"::foldmultilines=true")
	}},
	{"a safepoint has its operation and its parts in one line", releases[1:], func(t *testing.T, jdk lab.JDK) bool {
		return starting(t, jdk, `Safepoint "`, "-Xlog:safepoint")
	}},
	{"one line for all operations of a safepoint: `Total time for which …`", releases[:1], func(t *testing.T, jdk lab.JDK) bool {
		return starting(t, jdk, "Total time for which application threads were stopped: ", "-Xlog:safepoint")
	}},
	{"the JVM's version in its log (`gc+init`)", releases[1:], func(t *testing.T, jdk lab.JDK) bool {
		return starting(t, jdk, "Version: ", "-Xlog:gc+init")
	}},
	{"the JVM's flags in its log (`arguments`)", releases[2:], func(t *testing.T, jdk lab.JDK) bool {
		return starting(t, jdk, "jvm_args: ", "-Xlog:arguments")
	}},
	{"ZGC, without `-XX:+UnlockExperimentalVMOptions`", releases[1:], func(t *testing.T, jdk lab.JDK) bool { return starting(t, jdk, "", "-XX:+UseZGC") }},
	{"CMS", releases[:1], func(t *testing.T, jdk lab.JDK) bool { return starting(t, jdk, "", "-XX:+UseConcMarkSweepGC") }},
	{"`-XX:CompileCommand=DumpReplay`", releases[1:], func(t *testing.T, jdk lab.JDK) bool {
		return starting(t, jdk, "DumpReplay Collect.main bool DumpReplay = true", "-XX:CompileCommand=DumpReplay,Collect::main")
	}},
}

// starting reports whether a JVM with the options starts, runs a program and prints the text.
func starting(t *testing.T, jdk lab.JDK, text string, options ...string) bool {
	t.Helper()
	args := append([]string{"-Xmx64m", "-cp", classes}, options...)
	cmd := exec.Command(jdk.Java(), append(args, "Collect", "200")...)
	cmd.Dir = t.TempDir() // where the JVM leaves the files of DumpReplay
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(string(out), "rror") {
		t.Fatalf("%v\n%s", err, out)
	}
	return err == nil && strings.Contains(string(out), text)
}

// addsOutput reports whether a running JVM can add an output, log to it and remove it, and then has the same outputs
// as before.
func addsOutput(t *testing.T, jdk lab.JDK) bool {
	p, err := Start(jdk, "-Xmx64m", "-cp", classes, "Collect", "600000")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	ask := func(line string) string {
		t.Helper()
		var out string
		lab.Eventually(t, patience, "the JVM answers "+line, func() bool { // it may still be starting
			b, err := exec.Command(filepath.Join(jdk.Home, "bin", "jcmd"), strings.Fields(strconv.Itoa(p.PID())+" VM.log "+line)...).CombinedOutput()
			out = string(b)
			return err == nil
		})
		return out
	}
	file := filepath.Join(t.TempDir(), "gc.log")
	before := ask("list")
	ask("output=" + file + " what=gc decorators=time,uptime,level,tags output_options=filecount=0")
	lab.Eventually(t, patience, "the output has lines", func() bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "Pause Full")
	})
	if during := ask("list"); !strings.Contains(during, file) || !strings.Contains(during, "filecount=0") {
		t.Errorf("want %s and filecount=0 in the JVM's list:\n%s", file, during)
	}
	ask("output=file=" + file + " what=all=off")
	return ask("list") == before
}

// docs/pods.md lists the differences.
// `go test ./test/jvm -run ReleasesAreListed -update` writes the table.
func TestReleasesAreListed(t *testing.T) {
	var b strings.Builder
	b.WriteString("|")
	for _, r := range releases {
		fmt.Fprintf(&b, " | %d", r)
	}
	b.WriteString(" |\n|---" + strings.Repeat("|---", len(releases)) + "|\n")
	for _, d := range differences {
		b.WriteString("| " + d.what)
		for _, r := range releases {
			b.WriteString(" | " + yes(slices.Contains(d.in, r)))
		}
		b.WriteString(" |\n")
	}
	const path = "../../docs/pods.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	section := regexp.MustCompile(`(?s)(<!-- releases: .*? -->\n).*?(<!-- end of releases -->)`)
	if !section.Match(page) {
		t.Fatalf("%s has no table of releases", path)
	}
	want := section.ReplaceAllString(string(page), "${1}"+b.String()+"${2}")
	switch {
	case want == string(page):
	case *update:
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the table in %s differs from the test; write it with: go test ./test/jvm -run ReleasesAreListed -update", path)
	}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func TestReleasesDifferAsListed(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		if !slices.Contains(releases, jdk.Version) {
			return // another release that is installed
		}
		for _, d := range differences {
			if got, want := d.has(t, jdk), slices.Contains(d.in, jdk.Version); got != want {
				t.Errorf("%s: Java %d has it: got %s, want %s", d.what, jdk.Version, yes(got), yes(want))
			}
		}
	})
}
