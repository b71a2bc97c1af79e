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

// The line that a person waits for may follow many others, so it is not always in one of the next commits. A prompt
// therefore lasts for some time.
func TestAPromptIsOverAfterItsTime(t *testing.T) {
	s, _ := newBench(t).begun(true)
	p, now := &s.link.prompt, time.Now()
	if got := p.interval(time.Hour, now); got != time.Hour {
		t.Errorf("before any request, a line waits for %s, want %s", got, time.Hour)
	}
	s.Prompt()
	for after, want := range map[time.Duration]time.Duration{0: promptInterval, promptTime / 2: promptInterval, 2 * promptTime: time.Hour} {
		if got := p.interval(time.Hour, now.Add(after)); got != want {
			t.Errorf("%s after the request, a line waits for %s, want %s", after, got, want)
		}
	}
	if got := p.interval(time.Millisecond, now); got != time.Millisecond {
		t.Errorf("with a shorter sync interval, a line waits for %s, want %s", got, time.Millisecond)
	}
}
