package fault

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// TestSourceThatIsFull starts the sidecar on a tmpfs without a free byte, even for a checkpoint: with one stream,
// and with more files than fit into the slots that an earlier run has reserved.
func TestSourceThatIsFull(t *testing.T) {
	lab.NeedsRoot(t, "it mounts a tmpfs")
	for _, c := range []struct {
		name   string
		before bool // an earlier run reserved slots and was killed
		files  int
	}{
		{"before the first start", false, 1},
		{"before the first start, many files", false, 600},
		{"after a crash, many new files", true, 600},
	} {
		t.Run(c.name, func(t *testing.T) {
			source, dest := lab.Tmpfs(t, "8m"), t.TempDir()
			if c.before {
				s := lab.Run(t, source, dest)
				if _, err := s.Addr(patience); err != nil {
					t.Fatal(err)
				}
				s.Kill()
			}
			written := fill(t, source, c.files)
			s := lab.Run(t, source, dest)
			if _, err := s.Addr(patience); err != nil {
				t.Fatal(err)
			}
			if err := s.Stop(patience); err != nil {
				t.Fatal(err)
			}
			for name, text := range written {
				var got strings.Builder
				if err := lab.ReadStream(&got, dest, name); err != nil {
					t.Fatal(err)
				}
				if got.String() != text {
					t.Fatalf("stream %s: %d bytes were persisted, want %d", name, got.Len(), len(text))
				}
			}
			if left, _ := filepath.Glob(filepath.Join(source, "jvm*")); len(left) > 0 {
				t.Errorf("left in the source: %v, want none; the sidecar said:\n%s", left, s.Stderr())
			}
		})
	}
}

// fill writes a line into each of the given number of files, fills the tmpfs with further lines in the first file,
// and returns the content of each file. The last line may be torn: the sidecar adds the missing newline.
func fill(t *testing.T, dir string, files int) map[string]string {
	t.Helper()
	written := map[string]string{}
	for i := range files {
		name := fmt.Sprintf("jvm-%d.log", i)
		written[name] = fmt.Sprintf("[0.%03ds][info][gc] first line of %s\n", i%1000, name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(written[name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.OpenFile(filepath.Join(dir, "jvm-0.log"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var text strings.Builder
	text.WriteString(written["jvm-0.log"])
	for i := 0; ; i++ {
		line := fmt.Sprintf("[%d.%03ds][info][gc] line %d of a tmpfs that fills up\n", i/1000, i%1000, i)
		n, err := f.WriteString(line)
		text.WriteString(line[:n])
		if errors.Is(err, unix.ENOSPC) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	written["jvm-0.log"] = strings.TrimSuffix(text.String(), "\n") + "\n"
	return written
}

// TestDrainReadsFilesThatWaited holds more files open than the sidecar has descriptors for. It closes the files
// before it sends SIGTERM. The sidecar reads as many files as it may hold open, then the next ones.
func TestDrainReadsFilesThatWaited(t *testing.T) {
	const files = 300
	source, dest := lab.Tmpfs(t, "8m"), t.TempDir()
	var open []*os.File
	for i := range files {
		f, err := os.Create(filepath.Join(source, fmt.Sprintf("jvm-%d.log", i)))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := fmt.Fprintf(f, "[0.001s][info][gc] line of %d\n", i); err != nil {
			t.Fatal(err)
		}
		open = append(open, f)
	}
	s, err := lab.StartCommand(exec.Command("sh", "-c", `ulimit -n 100 && exec "$0" "$@"`, lab.Binary(),
		"run", "--source", source, "--dest", dest, "--listen", "127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	lab.Eventually(t, patience, "some files wait, and the lines of all others are committed", func() bool {
		waiting, err := s.Metric(`ullage_source_ignored_files{reason="too_many"}`)
		return err == nil && waiting > files/2 && persistedLines(t, s) == files-int(waiting)
	})
	for _, f := range open {
		f.Close()
	}
	if err := s.Stop(patience); err != nil {
		t.Fatal(err)
	}
	for i := range files {
		var got strings.Builder
		name := fmt.Sprintf("jvm-%d.log", i)
		if err := lab.ReadStream(&got, dest, name); err != nil || got.String() != fmt.Sprintf("[0.001s][info][gc] line of %d\n", i) {
			t.Fatalf("stream %s: %q, error %v; want the one line of %d and no error", name, &got, err, i)
		}
	}
}

// persistedLines returns how many lines of all streams are committed.
func persistedLines(t *testing.T, s *lab.Sidecar) (sum int) {
	t.Helper()
	_, body, err := s.Get("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(body) {
		if series, value, _ := strings.Cut(line, "} "); strings.HasPrefix(series, "ullage_persisted_lines_total{") {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}
