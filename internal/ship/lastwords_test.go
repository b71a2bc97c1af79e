package ship

import (
	"os"
	"strings"
	"testing"
	"time"
)

// When the grace period of a pod ends, its JVM is killed at the moment when the sidecar
// must end.
func TestDrainWaitsForAWriterThatEnds(t *testing.T) {
	b := newBench(t).start()
	f, err := os.OpenFile(b.path("gc.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write := func(text string) {
		if _, err := f.WriteString(text); err != nil {
			t.Error(err)
		}
	}
	write("before\n")
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		for begun := time.Now(); time.Since(begun) < lastWords/4; time.Sleep(time.Millisecond) {
			write("after\n")
		}
		write("the last one\n")
		f.Close()
	}()
	b.drain()
	<-wrote
	if got := b.persisted("gc.log"); !strings.HasPrefix(got, "before\nafter\n") || !strings.HasSuffix(got, "after\nthe last one\n") {
		t.Errorf("the persisted lines are %q, want \"before\\nafter\\n\" at its start and \"after\\nthe last one\\n\" at its end", got)
	}
}

// A process that continues to write does not keep the sidecar from ending.
func TestDrainDoesNotWaitForAWriterThatStays(t *testing.T) {
	b := newBench(t).start()
	f, err := os.OpenFile(b.path("gc.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("a line\n"); err != nil {
		t.Fatal(err)
	}
	b.drain()
	if got := b.persisted("gc.log"); got != "a line\n" {
		t.Errorf("the persisted lines are %q, want \"a line\\n\"", got)
	}
}

// Lines that a part of the sidecar adds once everything has been read are drained as well, both in a known file and in
// a new one.
func TestDrainReadsWhatIsAddedAtItsEnd(t *testing.T) {
	b := newBench(t)
	b.appendTo("gc.log", "a line\n")
	times := 0
	b.to.Finished = func() {
		times++
		b.appendTo("gc.log", "added\n")
		b.appendTo("new.log", "added too\n")
	}
	b.start()
	b.drain()
	if known, fresh := b.persisted("gc.log"), b.persisted("new.log"); times != 1 || known != "a line\nadded\n" || fresh != "added too\n" {
		t.Errorf("Finished was called %d times, and %q and %q are persisted; want 1, %q and %q", times, known, fresh, "a line\nadded\n", "added too\n")
	}
}
