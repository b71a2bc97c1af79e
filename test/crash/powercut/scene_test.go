package powercut

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// scene is a source and a destination, and the traces of the sidecars between them.
type scene struct {
	*testing.T
	source, dest string
	log          *os.File
	lines        *lab.Lines
	text         []byte
	side         *lab.Sidecar
	traces       []string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	if out, err := exec.Command("strace", "-f", "--seccomp-bpf", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		lab.Needs(t, fmt.Sprintf("strace, and the right to trace a process: %v %s", err, out))
	}
	s := &scene{T: t, source: lab.Tmpfs(t, "64m"), dest: filepath.Join(t.TempDir(), "dest"), lines: lab.NewLines(1, 1000)}
	if err := os.Mkdir(s.dest, 0o750); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(s.source, stream))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	s.log = log
	return s
}

// start starts a sidecar whose calls are recorded.
func (s *scene) start(flags ...string) {
	s.Helper()
	trace := filepath.Join(s.TempDir(), "trace")
	// With -D, the started process is the sidecar itself, so it gets the signals.
	args := append([]string{"-D", "-f", "-q", "-y", "-xx", "--seccomp-bpf", "-s", fmt.Sprint(mostTraced), "-e", "trace=" + traced, "-o", trace,
		lab.Binary(), "run", "--source", s.source, "--dest", s.dest, "--listen", "127.0.0.1:0"}, flags...)
	side, err := lab.StartCommand(exec.Command("strace", args...))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(side.Kill)
	s.side, s.traces = side, append(s.traces, trace)
}

// write writes lines of at least the given number of bytes in total.
func (s *scene) write(bytes int) {
	s.Helper()
	from := len(s.text)
	for len(s.text) < from+bytes {
		s.text = append(s.text, s.lines.Next()...)
	}
	if _, err := s.log.Write(s.text[from:]); err != nil {
		s.Fatal(err)
	}
}

// persisted waits until all written lines are in the segments.
func (s *scene) persisted() {
	s.Helper()
	lab.Eventually(s, lab.Patience, "all lines are persisted", func() bool {
		var text bytes.Buffer
		// Retention may have deleted the beginning.
		return lab.ReadStream(&text, s.dest, stream) == nil && text.Len() > 0 && bytes.HasSuffix(s.text, text.Bytes())
	})
}

// ended waits until the trace of the last life is complete.
func (s *scene) ended() {
	s.Helper()
	end := fmt.Sprintf("%d ", s.side.PID())
	lab.Eventually(s, lab.Patience, "the trace is complete", func() bool {
		data, err := os.ReadFile(s.traces[len(s.traces)-1])
		if err != nil {
			s.Fatal(err)
		}
		last := bytes.TrimSpace(data[bytes.LastIndexByte(bytes.TrimSpace(data), '\n')+1:])
		return bytes.HasPrefix(last, []byte(end)) && bytes.Contains(last, []byte("+++"))
	})
}

// kill stops the sidecar before it kills it, because strace does not see the result of a call that a kill
// interrupts.
func (s *scene) kill() {
	s.Helper()
	if err := s.side.Signal(unix.SIGSTOP); err != nil {
		s.Fatal(err)
	}
	still := 0
	lab.Eventually(s, lab.Patience, "all threads have stopped", func() bool {
		if still++; !stopped(s.side.PID()) {
			still = 0
		}
		return still == 3 // strace stops a thread for a moment at each call
	})
	s.side.Kill()
	s.ended()
}

// stopped reports whether all threads of a traced process are stopped now.
func stopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		_, state, _ := bytes.Cut(text, []byte(") "))
		if err == nil && !bytes.HasPrefix(state, []byte("t")) && !bytes.HasPrefix(state, []byte("T")) {
			return false
		}
	}
	return true
}

func (s *scene) stop() {
	s.Helper()
	if err := s.side.Stop(lab.Patience); err != nil {
		s.Fatal(err)
	}
	s.ended()
}

// recorded returns the recording of the traces. If mutate is not nil, it changes the calls of each
// life.
func (s *scene) recorded(seed uint64, mutate func(*scene, []call) []call) *recording {
	s.Helper()
	r := newRecording(s.source, s.dest, seed)
	r.text = s.text
	for _, trace := range s.traces {
		calls, err := readTrace(trace)
		if mutate != nil {
			calls = mutate(s, calls)
		}
		if err == nil {
			err = r.add(calls)
		}
		if err != nil {
			s.Fatal(err)
		}
	}
	return r
}

// ordinary runs three sidecars: the first commits and seals, the second is killed after several appends that it
// has not committed, and the third resumes and drains.
func ordinary(s *scene, compress string) {
	s.start("--compress", compress, "--sync-interval", "10ms", "--segment-bytes", "16Ki")
	for range 5 {
		s.write(20_000)
		s.persisted()
	}
	s.kill()
	s.start("--compress", compress, "--sync-interval", "1h", "--segment-bytes", "64Ki")
	s.write(1_000_000)
	s.persisted()
	s.kill()
	s.start("--compress", compress, "--sync-interval", "10ms", "--segment-bytes", "64Ki")
	s.write(20_000)
	s.persisted()
	s.stop()
}

// copied runs three sidecars with a sink, whose cursor is on the destination.
func copied(s *scene, compress string) {
	flags := []string{"--compress", compress, "--sync-interval", "10ms", "--segment-bytes", "16Ki", "--sink", copies}
	for range 2 {
		s.start(flags...)
		for range 3 {
			s.write(20_000)
			s.persisted()
		}
		s.kill()
	}
	s.start(flags...)
	s.write(20_000)
	s.persisted()
	s.stop()
}

// copies is the URL of the sink in the function copied.
const copies = "stdout:"

// retained makes retention delete segments, and then the newest segment of the idle stream and its directory. Then
// the stream begins again.
func retained(s *scene, compress string) {
	flags := []string{"--compress", compress, "--sync-interval", "10ms", "--segment-bytes", "16Ki", "--retain-bytes", "192Ki"}
	s.start(flags...)
	oldest := func() string {
		paths, err := lab.Segments(s.dest, stream)
		if err != nil || len(paths) == 0 {
			return ""
		}
		return paths[0]
	}
	s.write(40_000)
	s.persisted()
	for first := oldest(); oldest() == first; {
		s.write(40_000)
		s.persisted()
	}
	other, err := os.Create(filepath.Join(s.source, "other.log"))
	if err != nil {
		s.Fatal(err)
	}
	defer other.Close()
	lines := lab.NewLines(2, 1000)
	lab.Eventually(s, lab.Patience, "the idle stream is deleted", func() bool {
		for range 1000 {
			if _, err := other.Write(lines.Next()); err != nil {
				s.Fatal(err)
			}
		}
		return oldest() == ""
	})
	s.write(20_000)
	s.persisted()
	s.kill()
	s.start(flags...)
	s.write(20_000)
	s.persisted()
	s.stop()
}
