package levels

import (
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
	"github.com/ullage/ullage/test/lab/fakejvm"
)

const patience = lab.Patience

// becomes waits until a condition holds. It returns false if the condition does not hold in time.
func becomes(limit time.Duration, holds func() bool) bool {
	for deadline := time.Now().Add(limit); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// within waits until a condition holds.
func within(t testing.TB, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	if !becomes(limit, holds) {
		t.Fatalf("after %s, still waiting for: %s", limit, what)
	}
}

// soon waits until the JVM logs with the selection.
func soon(t testing.TB, limit time.Duration, j *fakejvm.JVM, selection string) {
	t.Helper()
	if !becomes(limit, func() bool { return j.Selection() == selection }) {
		t.Fatalf("after %s the selection of the JVM is %s, want %s\nthe JVM was sent %q", limit, j.Selection(), selection, j.Sent(0))
	}
}

// briefly waits until the JVM has the selection or has had it: a raise of a second may be over
// before a busy machine has looked.
func briefly(t testing.TB, j *fakejvm.JVM, selection string) {
	t.Helper()
	if !becomes(patience, func() bool { return j.HasLogged(selection) }) {
		t.Fatalf("after %s the JVM has never had the selection %s\nthe JVM was sent %q", patience, selection, j.Sent(0))
	}
}

// logs checks the current selection of the JVM.
func logs(t testing.TB, j *fakejvm.JVM, selection string) {
	t.Helper()
	if got := j.Selection(); got != selection {
		t.Errorf("the selection of the JVM is %s, want %s\nthe JVM was sent %q", got, selection, j.Sent(0))
	}
}

// started waits until a running Loop has made its first update.
func (p *process) started() {
	p.t.Helper()
	within(p.t, patience, "a first update", func() bool { return !p.Status().Reconciled.IsZero() })
}

// polls waits until a running Loop has made n more updates. The Loop updates repeatedly only while something is raised.
func (p *process) polls(n int) {
	p.t.Helper()
	for range n {
		was := p.Status().Reconciled
		within(p.t, patience, "another update", func() bool { return p.Status().Reconciled.After(was) })
	}
}

// metric returns the value of a counter or gauge with at most one label.
func (p *process) metric(name string, label ...string) float64 {
	p.t.Helper()
	families, err := p.reg.Gather()
	must(p.t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (len(label) == 0 || m.GetLabel()[0].GetValue() == label[0]) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	p.t.Fatalf("there is no metric %s %q", name, label)
	return 0
}

// hasMetric checks a metric.
func (p *process) hasMetric(want float64, name string, label ...string) {
	p.t.Helper()
	if got := p.metric(name, label...); got != want {
		p.t.Errorf("%s %q is %v, want %v", name, label, got, want)
	}
}

// logged is the log of a Loop.
type logged struct{ lab.Journal }

// says checks how many lines contain a text.
func (l *logged) says(t testing.TB, times int, text string) {
	t.Helper()
	n := 0
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	if n != times {
		t.Errorf("%q is in %d lines, want %d, of:\n%s", text, n, times, l)
	}
}

// passes waits until a moment has passed.
func passes(t testing.TB, moment time.Time) {
	t.Helper()
	within(t, patience, "the end of the raise", func() bool { return !time.Now().Before(moment) })
}

// hasError checks that the status has an error that contains a text. If the text is empty, the
// status must have no error.
func hasError(t testing.TB, st Status, text string) {
	t.Helper()
	if all := strings.Join(st.Errors, "\n"); !strings.Contains(all, text) || text == "" && all != "" {
		t.Errorf("the status has the errors %q, want %q", st.Errors, text)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
