package attach

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// A process that does not log into the source is found only by a search for all JVMs.
func TestSurveyAllFindsAJVMThatLogsElsewhere(t *testing.T) {
	source := t.TempDir()
	p := start(t, nil, t.TempDir())
	cfg := testConfig("")
	cfg.Mode = ProcessNamespace
	c := New(cfg, source)
	is := func(jvms []JVM) (found bool) {
		for _, j := range jvms {
			found = found || j.host == p.Process.Pid
		}
		return found
	}
	if is(c.Survey(t.Context()).JVMs) {
		t.Error("it is found, and has no file of the source open")
	}
	if all := c.SurveyAll(t.Context()).JVMs; !is(all) && len(all) < maxFound { // the machine may have others
		t.Errorf("it is not among %v", all)
	}
}

func TestWhereAJVMFindsTheSource(t *testing.T) {
	source := filepath.Join(t.TempDir(), "a source")
	must(t, os.Mkdir(source, 0o755))
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(source, link))
	p := start(t, nil, t.TempDir())
	j := JVM{PID: p.Process.Pid, host: p.Process.Pid}
	var err error
	j.start, err = startTime(j.host)
	must(t, err)
	for _, path := range []string{source, link} {
		if is, err := New(testConfig(""), path).SourcePath(j); err != nil || is != path {
			t.Errorf("%s: %q, %v", path, is, err)
		}
	}
	if is, err := New(testConfig(""), "/dev/shm").SourcePath(JVM{PID: 1}); err != nil || is != "/dev/shm" {
		t.Errorf("of a socket alone: %q, %v", is, err)
	}
	if is, err := New(testConfig(""), filepath.Join(source, "missing")).SourcePath(j); err == nil {
		t.Errorf("of a missing one: %q", is)
	}
}

func TestWhoListensBesideAnOutput(t *testing.T) {
	dir := t.TempDir()
	p := start(t, nil, t.TempDir())
	j := JVM{PID: p.Process.Pid, host: p.Process.Pid}
	o := Output{Name: "file=" + dir + "/gc-%p.log"}
	if pid, listens := j.ListenerBeside(o, "s"); listens {
		t.Errorf("before: %d", pid)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	must(t, err)
	if pid, listens := j.ListenerBeside(o, "s"); !listens || pid != os.Getpid() {
		t.Errorf("%d, %v; want %d", pid, listens, os.Getpid())
	}
	l.Close()
	must(t, os.WriteFile(filepath.Join(dir, "s"), nil, 0o600))
	if pid, listens := j.ListenerBeside(o, "s"); listens {
		t.Errorf("a file: %d", pid)
	}
}
