package ship

import (
	"testing"
	"time"
)

func TestAPromptCommitsBeforeTheSyncInterval(t *testing.T) {
	b := newBench(t)
	b.cfg.SyncInterval = time.Hour
	b.start()
	b.appendTo("gc.log", lines(0, 100))
	b.eventually("the lines are read", func() bool { return b.ship.link.lag(time.Now()) > 0 })
	b.ship.Prompt()
	b.eventually("the lines are committed", func() bool { return b.persisted("gc.log") == lines(0, 100) })
}

func TestAPromptIsOverAfterSomeCommits(t *testing.T) {
	s, _ := newBench(t).begun(true)
	s.Prompt()
	p := &s.link.prompt
	for range promptCommits {
		if got := p.interval(time.Hour); got != promptInterval {
			t.Errorf("a line waits for %s, want %s", got, promptInterval)
		}
		p.committed()
	}
	if got := p.interval(time.Hour); got != time.Hour {
		t.Errorf("after %d commits, a line waits for %s, want %s", promptCommits, got, time.Hour)
	}
}
