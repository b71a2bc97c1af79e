package levels

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/mark"

	"github.com/ullage/ullage/test/lab/fakejvm"
)

// marked is what a test was given, as text.
type marked struct {
	mu    sync.Mutex
	lines []string
}

func (m *marked) add(a mark.Mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines = append(m.lines, string(a.AppendDetails([]byte(a.Kind+" "))))
}

// take returns what is new.
func (m *marked) take() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	lines := m.lines
	m.lines = nil
	return lines
}

// gives fails the test unless the new marks match patterns.
func (m *marked) gives(t *testing.T, patterns ...string) {
	t.Helper()
	got := m.take()
	ok := len(got) == len(patterns)
	for i := 0; ok && i < len(got); i++ {
		ok = regexp.MustCompile("^" + patterns[i] + "$").MatchString(got[i])
	}
	if !ok {
		t.Errorf("marks %q, want %q", got, patterns)
	}
}

func TestRaisesAndRestoresAreMarked(t *testing.T) {
	r := newRig(t)
	var m marked
	r.to.Mark = m.add
	fakejvm.Start(t, r.cfg.Attach.Tmp, 7, filepath.Join(r.cfg.Source, "gc-%p.log"), filepath.Join(r.cfg.Source, "safepoint.log"))
	p := r.process()
	const until = `until=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`
	r.annotate("log", "gc*=debug")
	p.step()
	m.gives(t, `level-raised stream=gc-7.log pid=7 selection=gc\*=debug why="annotation ullage.dev/log" `+until,
		`level-raised stream=safepoint.log pid=7 selection=gc\*=debug why="annotation ullage.dev/log" `+until)
	r.annotate()
	p.step()
	m.gives(t, `level-restored stream=gc-7.log pid=7 selection=gc\*=debug why="the annotation is gone"`,
		`level-restored stream=safepoint.log pid=7 selection=gc\*=debug why="the annotation is gone"`)
	// A command, with who ran it.
	by := fmt.Sprintf(`by="uid %d, pid %d"`, os.Geteuid(), os.Getpid())
	if _, _, err := p.set("gc*=trace", time.Hour); err != nil {
		t.Fatal(err)
	}
	m.gives(t, `level-raised stream=gc-7.log pid=7 selection=gc\*=trace why="ullage log set" `+by+" "+until,
		`level-raised stream=safepoint.log .* `+by+" "+until)
	if _, err := p.reset(); err != nil {
		t.Fatal(err)
	}
	m.gives(t, `level-restored stream=gc-7.log pid=7 selection=gc\*=trace why="ullage log reset" `+by,
		`level-restored stream=safepoint.log .* `+by)
}
