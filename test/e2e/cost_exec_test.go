package e2e

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// If the reader of a log goes away, `ullage logs` in the sidecar ends, because its stdin ends: a container runtime may
// neither signal the process nor read its output. Each process that is left would permanently take 10 MiB of a limit of
// 64 MiB. The containers of the pod share a process namespace, so the test sees the sidecar's processes.
func TestReadersLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	pod := jvmPod{
		Name: "app", JDK: 25, Java: []string{"-XX:TieredStopAtLevel=1", "Throw", "12000", "3000", "12000"}, After: linger,
		Annotations: map[string]string{"xlog": "exceptions=info"}, Grace: 1,
	}.object()
	pod["spec"].(object)["shareProcessNamespace"] = true
	s.apply(manifest(pod))
	s.ready("app")
	s.eventually(time.Minute, "32 MiB are in the durable copy", func() bool {
		read, err := metric(s, "app", "ullage_persisted_bytes_total")
		return err == nil && read > 32<<20
	})
	plugin := goBuild(s, "../../cmd/kubectl-ullage")
	// The copy is larger than all buffers between the program and the test, so the program blocks.
	for name, end := range map[string]func(*exec.Cmd) error{
		"interrupted":    func(c *exec.Cmd) error { return c.Process.Signal(syscall.SIGINT) },
		"killed":         func(c *exec.Cmd) error { return c.Process.Kill() },
		"pipe is closed": func(*exec.Cmd) error { return nil },
	} {
		for _, follow := range []string{"--follow=false", "--follow"} {
			readAndEnd(s, exec.Command(plugin, "logs", "-n", s.name, follow, "app"), end)
			s.eventually(time.Minute, name+" with "+follow+": no program reads the log any more", func() bool { return !readersIn(s, "app") })
		}
	}
}

// readAndEnd starts a command, reads a line that it prints, calls end and closes its output.
func readAndEnd(s *space, cmd *exec.Cmd, end func(*exec.Cmd) error) {
	s.Helper()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.Errorf("%v: read %q: %v", cmd.Args, line, err)
	}
	if !readersIn(s, "app") {
		s.Errorf("%v: no program that reads the log is visible in the pod", cmd.Args)
	}
	if err := end(cmd); err != nil {
		s.Error(err)
	}
	out.Close()
	_ = cmd.Wait() // an error is due to the signal or the closed pipe
}

// readersIn reports whether a program in a sidecar of the pod reads the log.
func readersIn(s *space, pod string) bool {
	s.Helper()
	return strings.Contains(s.exec(pod, "app", "ps", "-o", "args"), "ullage logs ")
}

// Both images record the commit that they were built from, if git knows it.
func TestImagesSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.apply(jvmPod{Name: "app", JDK: 25, Grace: 1}.manifest())
	s.ready("app")
	commit := regexp.MustCompile(`^[0-9a-f]{40}(-dirty)?$`)
	_, _, err := command("", "git", "rev-parse", "HEAD")
	for program, text := range map[string]string{
		"ullage":          s.exec("app", "ullage", "ullage", "version", "--json"),
		"ullage-injector": s.must(kubectl("", "-n", system, "exec", injector, "--", "ullage-injector", "version", "--json")),
	} {
		var is struct{ Version, Revision string }
		if err := json.Unmarshal([]byte(text), &is); err != nil {
			t.Fatalf("%s: %v in %q", program, err, text)
		}
		if tag := strings.ReplaceAll(is.Version, "+", "-"); tag != imageVersion {
			t.Errorf("%s has the version %q, want %q", program, tag, imageVersion)
		}
		if err == nil && !commit.MatchString(is.Revision) {
			t.Errorf("%s has the revision %q, want a commit", program, is.Revision)
		}
	}
}

// Each of two sidecars in a pod answers `ullage status`, although the command has no address.
func TestEachSidecarOfAPodTellsItsStatus(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	pod := jvmPod{Name: "two", JDK: 25, Grace: 1, Annotations: map[string]string{"container": "app,other"}}
	o := pod.object()
	other := pod.container("other")
	other["command"] = []any{"java", "-XX:+UseSerialGC", "-Xmx48m", "-Xlog:disable", "Churn", "600000", "1"} // logs nothing
	spec := o["spec"].(object)
	spec["containers"] = append(spec["containers"].([]any), other)
	s.apply(manifest(o))
	s.ready("two")
	s.eventually(time.Minute, "lines of the first JVM are read", func() bool {
		read, err := metric(s, "two", "ullage_read_lines_total")
		return err == nil && read > 5 // some are marks
	})
	for sidecar, reads := range map[string]bool{"ullage": true, "ullage-2": false} {
		text := s.exec("two", sidecar, "ullage", "status", "--json")
		var st struct {
			Read struct{ Lines int64 }
		}
		if err := json.Unmarshal([]byte(text), &st); err != nil {
			t.Fatalf("%s: %v in %q", sidecar, err, text)
		}
		if (st.Read.Lines > 0) != reads {
			t.Errorf("%s has read %d lines, want any: %t", sidecar, st.Read.Lines, reads)
		}
	}
}
