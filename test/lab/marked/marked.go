// Package marked collects the marks of one part of the sidecar for its tests.
package marked

import (
	"regexp"
	"sync"
	"testing"

	"github.com/ullage/ullage/internal/line/mark"
)

// Marks holds marks as text. The zero value is empty.
type Marks struct {
	mu    sync.Mutex
	lines []string
}

// Add adds a mark. It is safe for concurrent use.
func (m *Marks) Add(a mark.Mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines = append(m.lines, string(a.AppendDetails([]byte(a.Kind+" "))))
}

// Take returns and removes the marks.
func (m *Marks) Take() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	lines := m.lines
	m.lines = nil
	return lines
}

// Gives takes the marks and fails the test unless each mark matches its pattern.
func (m *Marks) Gives(t *testing.T, patterns ...string) {
	t.Helper()
	got := m.Take()
	ok := len(got) == len(patterns)
	for i := 0; ok && i < len(got); i++ {
		ok = regexp.MustCompile("^" + patterns[i] + "$").MatchString(got[i])
	}
	if !ok {
		t.Errorf("marks %q, want %q", got, patterns)
	}
}
