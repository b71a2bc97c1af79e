package e2e

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage/ullage/internal/read/incident"
)

// anIncident runs `kubectl ullage incident` on a target with the settings in its environment. The archive is written
// to an empty directory on this machine, under the default name. anIncident returns the archive's files and its
// manifest, and requires that the archive is complete and contains none of the secrets.
func anIncident(s *space, settings []string, target string, secrets []string, more ...string) (files map[string]string, m incident.Manifest) {
	s.Helper()
	dir := s.TempDir()
	args := slices.Concat([]string{"-C", dir}, settings, []string{"kubectl", "ullage", "-n", s.name, "incident", target}, more)
	out, said, err := command("", "env", args...)
	name := strings.TrimSpace(s.must(out, err))
	matches(s.T, "the name of the archive", name, `^`+strings.TrimPrefix(target, "deploy/")+`\S*-incident\.zip$`)
	matches(s.T, "kubectl ullage incident", said, `(?m)^complete: every line of that time is in it$`)
	archive, err := zip.OpenReader(filepath.Join(dir, name))
	s.must("", err)
	defer archive.Close()
	files = map[string]string{}
	for _, f := range archive.File {
		in, err := f.Open()
		s.must("", err)
		text, err := io.ReadAll(in)
		files[f.Name] = s.must(string(text), err)
		for _, secret := range secrets {
			if strings.Contains(files[f.Name], secret) {
				s.Errorf("%s contains the secret %q, want none of the secrets", f.Name, secret)
			}
		}
	}
	s.must("", json.Unmarshal([]byte(files["manifest.json"]), &m))
	if len(m.Lacks) > 0 {
		s.Errorf("the archive lacks %q, want nothing missing", m.Lacks)
	}
	for _, part := range m.Parts {
		if _, is := files[part.Name]; !is || part.Problem != "" || part.Cut > 0 {
			s.Errorf("a part of the archive is not whole: %+v", part)
		}
	}
	return files, m
}

// incidentOf checks the archive of a pod whose JVM runs as process pid of its container. The lines are what `ullage
// logs` prints for the same time, and the JVM was asked for its threads, its objects and its flags.
func incidentOf(s *space, settings []string, pod string, secrets ...string) {
	s.Helper()
	files, m := anIncident(s, settings, pod, secrets, "--threads", "--histogram")
	for name, expression := range map[string]string{
		"index.html": `Complete: every line`, "report.html": `^<!doctype html>`, "report.txt": `young`, "report.json": `"collections"`,
		"check.txt": `(?m)^complete: `, "check.json": `"kind":"run"`, "marks.txt": `jvm-(started|seen)`,
		"kernel-before.txt": `== /proc/meminfo\n`, "kernel-after.txt": `== /proc/meminfo\n`, "status.txt": `state:`, "recent.json": `"pauses"`,
		"levels.txt": `gc-%p\.log`, "flags-1.txt": `-XX:MaxHeapSize=50331648`, "threads-1.txt": `"main" #`, "histogram-1.txt": `java\.lang\.String`,
	} {
		matches(s.T, name, files[name], expression)
	}
	lines := ""
	for name, text := range files {
		if strings.HasPrefix(name, "lines/") {
			matches(s.T, "a stream", name, `^lines/gc-\d+\.log\.txt$`)
			lines = text
		}
	}
	matches(s.T, "the lines", lines, `Pause Young`)
	same := s.exec(pod, "ullage", "ullage", "logs", "--since", m.Since.Format(time.RFC3339Nano), "--until", m.Until.Format(time.RFC3339Nano), "/var/lib/ullage")
	if d := cmp.Diff(same, lines); d != "" {
		s.Errorf("the lines are not those of 'ullage logs' (-want +got)\n%s", d)
	}
	for what, c := range map[string]struct {
		args   []string
		status int
	}{
		"a pod that does not exist": {[]string{"nosuch"}, 1},
		"no target":                 {nil, 2},
		"a distance below zero":     {[]string{pod, "--within", "-1m"}, 2},
	} {
		_, _, err := command("", "env", slices.Concat([]string{"-C", s.TempDir()}, settings, []string{"kubectl", "ullage", "-n", s.name, "incident"}, c.args)...)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != c.status {
			s.Errorf("%s: %v, want exit status %d", what, err, c.status)
		}
	}
}
