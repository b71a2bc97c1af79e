package ship

import (
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestSourceThatAppearsLater(t *testing.T) {
	b := newBench(t)
	if err := os.RemoveAll(b.cfg.Tail.Source); err != nil {
		t.Fatal(err)
	}
	b.start()
	b.eventually("the sidecar reports that it is not ready", func() bool { return b.ship.Ready() != nil })
	if err := os.Mkdir(b.cfg.Tail.Source, 0o755); err != nil {
		t.Fatal(err)
	}
	b.appendTo("gc.log", lines(0, 10))
	b.eventually("the lines are persisted", b.persistedLines(10))
	if err := b.ship.Ready(); err != nil {
		t.Error(err)
	}
	b.drain()
}

func TestSourceThatNeverAppearsIsNothingToDrain(t *testing.T) {
	b := newBench(t)
	b.cfg.Tail.Source += "/missing"
	b.start()
	b.drain()
}

func TestSourceThatIsNoDirectoryIsAMistake(t *testing.T) {
	b := newBench(t)
	b.cfg.Tail.Source = b.path("file")
	if err := os.WriteFile(b.cfg.Tail.Source, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := New(b.cfg, prometheus.NewRegistry(), slog.New(slog.DiscardHandler)).Run(t.Context(), Outlets{})
	if err == nil || !strings.Contains(err.Error(), "--source") {
		t.Errorf("error %v, want one that names --source", err)
	}
}

func TestSourceThatIsReplacedIsFollowedAgain(t *testing.T) {
	b := newBench(t)
	b.start()
	b.appendTo("gc.log", lines(0, 10))
	b.eventually("the first lines are persisted", b.persistedLines(10))
	if err := os.RemoveAll(b.cfg.Tail.Source); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(b.cfg.Tail.Source, 0o755); err != nil {
		t.Fatal(err)
	}
	b.appendTo("gc.log", lines(10, 20))
	b.eventually("the lines in the new directory are persisted", b.persistedLines(20))
	b.drain()
	if got, want := b.persisted("gc.log"), lines(0, 20); got != want {
		t.Fatalf("persisted %q, want %q", got, want)
	}
}

func TestSourceThatIsRemovedCanBeDrained(t *testing.T) {
	b := newBench(t)
	b.start()
	b.appendTo("gc.log", lines(0, 10))
	b.eventually("the lines are persisted", b.persistedLines(10))
	if err := os.RemoveAll(b.cfg.Tail.Source); err != nil {
		t.Fatal(err)
	}
	b.drain()
}

func TestLinesOfUnknownFormAreLinesToo(t *testing.T) {
	b := newBench(t)
	text := strings.Repeat("no UL at all\n\x00\xff binary\n\n", 100)
	b.appendTo("app.log", text)
	b.start()
	b.drain()
	if got := b.persisted("app.log"); got != text {
		t.Fatalf("persisted %d bytes, want %d", len(got), len(text))
	}
}
