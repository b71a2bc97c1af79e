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
		t.Error("Survey found the JVM, although it has no file of the source open")
	}
	if all := c.SurveyAll(t.Context()).JVMs; !is(all) && len(all) < maxFound { // the machine may run other JVMs
		t.Errorf("SurveyAll did not find the JVM, only %v", all)
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
			t.Errorf("%s: the path is %q, error %v; want the same path and no error", path, is, err)
		}
	}
	if is, err := New(testConfig(""), "/dev/shm").SourcePath(JVM{PID: 1}); err != nil || is != "/dev/shm" {
		t.Errorf(`for a socket alone, the path is %q, error %v, want "/dev/shm"`, is, err)
	}
	if is, err := New(testConfig(""), filepath.Join(source, "missing")).SourcePath(j); err == nil {
		t.Errorf("for a missing source, the path is %q, want an error", is)
	}
}

func TestWhoListensBesideAnOutput(t *testing.T) {
	dir := t.TempDir()
	p := start(t, nil, t.TempDir())
	j := JVM{PID: p.Process.Pid, host: p.Process.Pid}
	o := Output{Name: "file=" + dir + "/gc-%p.log"}
	if pid, listens := j.ListenerBeside(o, "s"); listens {
		t.Errorf("before anything listens, got process %d, want none", pid)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	must(t, err)
	if pid, listens := j.ListenerBeside(o, "s"); !listens || pid != os.Getpid() {
		t.Errorf("got process %d, listens %v; want process %d", pid, listens, os.Getpid())
	}
	l.Close()
	must(t, os.WriteFile(filepath.Join(dir, "s"), nil, 0o600))
	if pid, listens := j.ListenerBeside(o, "s"); listens {
		t.Errorf("for a regular file, got process %d, want none", pid)
	}
}
