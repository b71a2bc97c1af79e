package jvm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

// differences are what the releases of Java have that matters to ullage. The table of docs/pods.md says
// which release has what, and each of its cells is checked on a JVM.
var differences = []struct {
	what string
	has  func(t *testing.T, jdk lab.JDK) bool
}{
	{"what the injector adds", func(t *testing.T, jdk lab.JDK) bool {
		_, value := newStarts(t, jdk).injected(t, nil)
		return starting(t, jdk, "", strings.Fields(value)...) // as JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS and the command line have them
	}},
	{"all twelve decorators", func(t *testing.T, jdk lab.JDK) bool {
		return starting(t, jdk, "", "-Xlog:gc:stdout:time,utctime,uptime,timemillis,uptimemillis,timenanos,uptimenanos,hostname,pid,tid,level,tags")
	}},
	{"`output_options` of `VM.log`, and outputs added and removed while the JVM runs", addsOutput},
	{"`-Xlog:async`", func(t *testing.T, jdk lab.JDK) bool { return starting(t, jdk, "", "-Xlog:async") }},
	{"`foldmultilines` of an output", func(t *testing.T, jdk lab.JDK) bool {
		return starting(t, jdk, "", "-Xlog:gc:file="+filepath.Join(t.TempDir(), "gc.log")+"::foldmultilines=true")
	}},
	{"a safepoint has its operation and its parts in one line", func(t *testing.T, jdk lab.JDK) bool {
		return starting(t, jdk, `Safepoint "`, "-Xlog:safepoint")
	}},
	{"one line for all operations of a safepoint: `Total time for which …`", func(t *testing.T, jdk lab.JDK) bool {
		return starting(t, jdk, "Total time for which application threads were stopped: ", "-Xlog:safepoint")
	}},
	{"the JVM's version in its log (`gc+init`)", func(t *testing.T, jdk lab.JDK) bool {
		return starting(t, jdk, "Version: ", "-Xlog:gc+init")
	}},
	{"the JVM's flags in its log (`arguments`)", func(t *testing.T, jdk lab.JDK) bool {
		return starting(t, jdk, "jvm_args: ", "-Xlog:arguments")
	}},
	{"ZGC, without `-XX:+UnlockExperimentalVMOptions`", func(t *testing.T, jdk lab.JDK) bool { return starting(t, jdk, "", "-XX:+UseZGC") }},
	{"CMS", func(t *testing.T, jdk lab.JDK) bool { return starting(t, jdk, "", "-XX:+UseConcMarkSweepGC") }},
	{"`-XX:CompileCommand=DumpReplay`", func(t *testing.T, jdk lab.JDK) bool {
		return starting(t, jdk, "DumpReplay Collect.main bool DumpReplay = true", "-XX:CompileCommand=DumpReplay,Collect::main")
	}},
}

// starting reports whether a JVM starts with options, runs a program and prints a text.
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

// addsOutput reports whether a running JVM takes an output, logs to it and gives it up, with its other
// outputs as they were.
func addsOutput(t *testing.T, jdk lab.JDK) bool {
	p, err := Start(jdk, "-Xmx64m", "-cp", classes, "Collect", "600000")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	ask := func(line string) string {
		t.Helper()
		var out string
		lab.Eventually(t, patience, "the JVM answers "+line, func() bool { // it is still starting
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
		t.Errorf("the JVM lists\n%s", during)
	}
	ask("output=file=" + file + " what=all=off")
	return ask("list") == before
}

// Which release has what is as the documents say.
func TestReleasesDifferAsTheDocumentsSay(t *testing.T) {
	page, err := os.ReadFile("../../docs/pods.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| | 11 | 17 | 21 | 25 |\n|---|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	said := map[string][]string{}
	for row := range strings.SplitSeq(table, "\n") {
		if cells := strings.Split(strings.Trim(row, "| "), " | "); len(cells) == 5 {
			said[cells[0]] = cells[1:]
		}
	}
	if len(said) != len(differences) {
		t.Errorf("the page has %d rows, the test %d", len(said), len(differences))
	}
	column := map[int]int{11: 0, 17: 1, 21: 2, 25: 3}
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		at, promised := column[jdk.Version]
		if !promised {
			return // installed as well
		}
		for _, d := range differences {
			want := "no"
			if d.has(t, jdk) {
				want = "yes"
			}
			if cells := said[d.what]; len(cells) != 4 || cells[at] != want {
				t.Errorf("%s: the page says %q, and Java %d: %s", d.what, cells, jdk.Version, want)
			}
		}
	})
}
