package jvm

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/kube/inject"
	"github.com/ullage/ullage/internal/kube/inject/wish"
	"github.com/ullage/ullage/test/lab"
)

// TestWhoReadsTheOptions checks which programs take the injector's options from which variable.
// That is the table in docs/pods.md, and the reason for the default. Each row starts a program as
// an image does and counts the logs that its JVMs opened.
func TestWhoReadsTheOptions(t *testing.T) {
	const launcher, tool, own = "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "ES_JAVA_OPTS"
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		s := newStarts(t, jdk)
		for _, c := range []struct {
			name  string
			start []string
			logs  map[string]int // by variable
		}{
			{"java with a class", s.java("-cp", classes, "Say"), map[string]int{launcher: 1, tool: 1}},
			{"java -jar", s.java("-jar", s.jar), map[string]int{launcher: 1, tool: 1}},
			{"java with an argument file", s.java("@" + s.file("args", "-cp "+classes+" Say")), map[string]int{launcher: 1, tool: 1}},
			{"java -version", s.java("-version"), map[string]int{launcher: 1, tool: 1}},
			{"java of a jlink image", s.linked(), map[string]int{launcher: 1, tool: 1}},
			{"a shell script around java -jar", s.script(`exec "$JAVA" $JAVA_OPTS -jar "$JAR"`), map[string]int{launcher: 1, tool: 1}},
			{"a java that starts a java", s.java("-cp", classes, "Say", "from.image", "child"), map[string]int{launcher: 2, tool: 2}},
			// Elasticsearch up to 9.1 and Logstash. Elasticsearch of September 2026 or later drops
			// JDK_JAVA_OPTIONS too.
			{"a script that drops the JVM's variables", s.script(`unset JAVA_TOOL_OPTIONS _JAVA_OPTIONS; exec "$JAVA" $ES_JAVA_OPTS -jar "$JAR"`), map[string]int{launcher: 1, tool: 0, own: 1}},
			{"a script that drops all variables", s.script(`unset JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS; exec "$JAVA" $ES_JAVA_OPTS -jar "$JAR"`), map[string]int{launcher: 0, tool: 0, own: 1}},
			{"a JVM embedded in another program", s.embedded(), map[string]int{launcher: 0, tool: 1}},
			{"jcmd", []string{s.program("jcmd"), "-l"}, map[string]int{launcher: 0, tool: 1}},
			{"keytool", []string{s.program("keytool"), "-help"}, map[string]int{launcher: 0, tool: 1}},
		} {
			for variable, want := range c.logs {
				t.Run(c.name+"/"+variable, func(t *testing.T) {
					if c.start == nil && !s.compiles() {
						return
					}
					if c.start == nil {
						lab.Needs(t, "a C compiler")
					}
					if logs := s.run(t, c.start, variable+"="+s.options(t, variable)); logs != want {
						t.Errorf("%d logs, want %d", logs, want)
					}
				})
			}
		}
	})
}

// TestOptionsOfTheImageSurvive checks that options which an image sets in JAVA_TOOL_OPTIONS, such as an agent or a
// heap size, take effect together with ours.
func TestOptionsOfTheImageSurvive(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		s := newStarts(t, jdk)
		cmd := exec.Command(jdk.Java(), "-cp", classes, "Say")
		cmd.Env = append(os.Environ(), "JAVA_TOOL_OPTIONS=-Dfrom.image=agent -Xlog:disable", s.defaultVariable(t))
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), "said agent") {
			t.Fatalf(`the JVM printed %s, error %v, want "said agent" in it`, out, err)
		}
		if logs := s.logs(t); logs != 1 { // although the image sets -Xlog:disable, which precedes our options
			t.Errorf("there are %d logs, want 1", logs)
		}
	})
}

// starts has the ways to start a JVM.
type starts struct {
	*testing.T
	jdk    lab.JDK
	dir    string
	jar    string
	source string // where the options put the log
}

func newStarts(t *testing.T, jdk lab.JDK) *starts {
	t.Helper()
	s := &starts{T: t, jdk: jdk, dir: t.TempDir()}
	s.jar, s.source = filepath.Join(s.dir, "app.jar"), filepath.Join(s.dir, "logs")
	s.must(exec.Command(filepath.Join(kit.Home, "bin", "jar"), "--create", "--file", s.jar, "--main-class", "Say", "-C", classes, "Say.class"))
	return s
}

func (s *starts) must(cmd *exec.Cmd) {
	s.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		s.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
}

func (s *starts) program(name string) string   { return filepath.Join(s.jdk.Home, "bin", name) }
func (s *starts) java(args ...string) []string { return append([]string{s.jdk.Java()}, args...) }

func (s *starts) file(name, text string) string {
	s.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		s.Fatal(err)
	}
	return path
}

func (s *starts) script(text string) []string { return []string{"sh", "-c", text} }

// compiles reports whether the Java installation has a compiler, a linker and headers.
func (s *starts) compiles() bool {
	_, err := os.Stat(s.jdk.Javac())
	return err == nil
}

// linked makes a runtime with jlink, as in small images. It returns nil if this Java has no linker.
func (s *starts) linked() []string {
	s.Helper()
	if !s.compiles() {
		return nil
	}
	home := filepath.Join(s.dir, "linked")
	s.must(exec.Command(s.program("jlink"), "--add-modules", "java.base", "--output", home))
	return []string{filepath.Join(home, "bin", "java"), "-cp", classes, "Say"}
}

// embedded builds a program that embeds a JVM. It returns nil if there is no C compiler or no headers.
func (s *starts) embedded() []string {
	s.Helper()
	if _, err := exec.LookPath("cc"); err != nil || !s.compiles() {
		return nil
	}
	program, lib, include := filepath.Join(s.dir, "embed"), filepath.Join(s.jdk.Home, "lib", "server"), filepath.Join(s.jdk.Home, "include")
	s.must(exec.Command("cc", "testdata/embed.c", "-I"+include, "-I"+filepath.Join(include, "linux"), "-L"+lib, "-ljvm", "-Wl,-rpath,"+lib, "-o", program))
	return []string{program, classes}
}

// run runs a command to its end and returns how many logs its JVMs opened.
func (s *starts) run(t *testing.T, args []string, env ...string) int {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), append(env, "JAVA="+s.jdk.Java(), "JAR="+s.jar)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return s.logs(t)
}

// logs counts the logs and removes them.
func (s *starts) logs(t *testing.T) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(s.source, "gc-*.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		if st, err := os.Stat(name); err != nil || st.Size() == 0 {
			t.Errorf("%s is empty or missing, want lines in it: %v", name, err)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	return len(found)
}

// options returns the injector's own options for the variable, with the log in the directory of the test.
func (s *starts) options(t *testing.T, variable string) string {
	t.Helper()
	name, value := s.injected(t, map[string]string{"ullage.dev/options-variable": variable})
	if name != variable {
		t.Fatalf("the injector sets %s, want %s", name, variable)
	}
	return value
}

// defaultVariable returns the variable and the value that the injector sets by default.
func (s *starts) defaultVariable(t *testing.T) string {
	t.Helper()
	name, value := s.injected(t, nil)
	return name + "=" + value
}

// injected injects a pod and returns the variable that the injector has set.
func (s *starts) injected(t *testing.T, annotations map[string]string) (name, value string) {
	t.Helper()
	if err := os.MkdirAll(s.source, 0o755); err != nil {
		t.Fatal(err)
	}
	cfg := wish.DefaultConfig()
	cfg.Image = "localhost/ullage:v1"
	pod, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}, "spec": map[string]any{
		"securityContext": map[string]any{"runAsUser": 1000, "runAsGroup": 1000}, "containers": []any{map[string]any{"name": "app"}}}})
	if err != nil {
		t.Fatal(err)
	}
	res, err := inject.Mutate(pod, "shop", cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range res.Patch {
		if op.Path != "/spec/containers/0/env" {
			continue
		}
		text, err := json.Marshal(op.Value)
		var env []struct{ Name, Value string }
		if err != nil || json.Unmarshal(text, &env) != nil || len(env) != 1 {
			t.Fatalf("the environment is %s, error %v; want 1 variable and no error", text, err)
		}
		// Other tests' JVMs have sockets in /tmp, so these JVMs must not add more.
		value := strings.ReplaceAll(env[0].Value, " -XX:+StartAttachListener", "")
		return env[0].Name, strings.ReplaceAll(value, "/var/log/jvm", s.source)
	}
	t.Fatalf("no variable in %+v", res)
	return "", ""
}
