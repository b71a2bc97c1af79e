package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// commandTimeout bounds every kubectl and helm.
const commandTimeout = 4 * time.Minute

// kubectl runs kubectl with stdin and returns its stdout. The error includes its stderr.
func kubectl(stdin string, args ...string) (string, error) {
	out, _, err := command(stdin, "kubectl", args...)
	return out, err
}

func helm(args ...string) (string, error) {
	out, _, err := command("", "helm", args...)
	return out, err
}

func command(stdin, name string, args ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err = cmd.Run(); err != nil {
		err = fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.String(), errs.String(), err
}

// space is a namespace that belongs to one test and is deleted after it. Its methods run kubectl there; helpers
// built on them are functions.
type space struct {
	*testing.T
	name string
}

// newSpace creates a namespace that is named after the test. Labels have the form "a=b".
func newSpace(t *testing.T, labels ...string) *space {
	t.Helper()
	s := &space{T: t, name: spaceName(t)}
	mark := object{madeKey: madeValue}
	for _, label := range labels {
		key, value, _ := strings.Cut(label, "=")
		mark[key] = value
	}
	s.must(kubectl(manifest(object{
		"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": s.name, "labels": mark},
	}), "create", "-f", "-"))
	t.Cleanup(s.remove)
	// Pods are refused until the namespace has its account.
	s.eventually(time.Minute, "the service account of the namespace", func() bool {
		_, err := s.try("get", "serviceaccount", "default")
		return err == nil
	})
	return s
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

func spaceName(t *testing.T) string {
	name := notInNames.ReplaceAllString(strings.ToLower(strings.TrimPrefix(t.Name(), "Test")), "-")
	return fmt.Sprintf("e2e-%.40s-%d", strings.Trim(name, "-"), time.Now().UnixNano()%1e6)
}

// remove deletes the namespace. If the test failed, it first shows the content of the namespace.
func (s *space) remove() {
	if s.Failed() {
		s.show()
	}
	if keep {
		return
	}
	if _, err := kubectl("", "delete", "namespace", s.name, "--wait=false"); err != nil {
		s.Logf("cannot delete the namespace: %v", err)
	}
}

// show logs the namespace's pods, events and container logs.
func (s *space) show() {
	for _, args := range [][]string{
		{"get", "pods,jobs", "-o", "wide"},
		{"get", "events", "--sort-by=.lastTimestamp"},
		{"logs", "--all-containers", "--prefix", "--tail=15", "-l", "e2e=pod"},
	} {
		out, err := s.try(args...)
		s.Logf("kubectl %s:\n%s%v", strings.Join(args, " "), out, errorText(err))
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (s *space) try(args ...string) (string, error) {
	return kubectl("", append([]string{"-n", s.name}, args...)...)
}

// kubectl runs kubectl in the namespace and returns its stdout.
func (s *space) kubectl(args ...string) string {
	s.Helper()
	return s.must(s.try(args...))
}

func (s *space) must(out string, err error) string {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
	return out
}

// apply applies a manifest and returns the warnings that came with it.
func (s *space) apply(manifest string) (warnings string) {
	s.Helper()
	_, warnings, err := command(manifest, "kubectl", "-n", s.name, "apply", "-f", "-")
	s.must("", err)
	return warnings
}

func (s *space) exec(pod, container string, command ...string) string {
	s.Helper()
	return s.must(s.tryExec(pod, container, command...))
}

func (s *space) tryExec(pod, container string, command ...string) (string, error) {
	return s.try(append([]string{"exec", pod, "-c", container, "--"}, command...)...)
}

// field returns a field of an object, as a JSONPath without braces: ".status.phase".
func (s *space) field(object, path string) string {
	s.Helper()
	return s.kubectl("get", object, "-o", "jsonpath={"+path+"}")
}

// waitFor runs kubectl wait. The argument what is for instance "condition=Ready" or
// "jsonpath={.status.phase}=Succeeded".
func (s *space) waitFor(object, what string, within time.Duration) {
	s.Helper()
	s.kubectl("wait", object, "--for="+what, "--timeout="+within.String())
}

func (s *space) ready(pod string) {
	s.Helper()
	s.waitFor("pod/"+pod, "condition=Ready", 2*time.Minute)
}

// eventually fails the test if holds does not return true within the time.
func (s *space) eventually(within time.Duration, what string, holds func() bool) {
	s.Helper()
	if err := wait(within, holds); err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

// wait calls holds with pauses between the calls: most calls run a kubectl, which takes 0.2 s of CPU time.
func wait(within time.Duration, holds func() bool) error {
	for end := time.Now().Add(within); !holds(); time.Sleep(300 * time.Millisecond) {
		if time.Now().After(end) {
			return errors.New("not within " + within.String())
		}
	}
	return nil
}
