package sidecar

import (
	"log/slog"
	"sync"
	"time"

	"github.com/ullage/ullage/internal/base/retry"
	"github.com/ullage/ullage/internal/jvm/control"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship"
)

// saving saves the lines that are held in hindsight, for triggers, commands and annotations.
type saving struct {
	shipper *ship.Shipper
	journal *journal
	log     *slog.Logger

	mu     sync.Mutex
	logged map[string]*retry.Limiter // by the cause of a saving
}

func newSaving(shipper *ship.Shipper, journal *journal, log *slog.Logger) *saving {
	return &saving{shipper: shipper, journal: journal, log: log, logged: map[string]*retry.Limiter{}}
}

// save saves the held lines and adds a mark, unless they are being saved already.
func (s *saving) save(cause, why string) (control.Saving, error) {
	saving, err := s.shipper.Save()
	if err != nil {
		return control.Saving{}, err
	}
	if saving.Began {
		if suppressed, ok := s.mayLog(cause, time.Now()); ok {
			// messages.md#hindsight: A condition of `--hindsight-on`, `ullage levels save` or the
			// annotation `ullage.dev/save` stores the held lines: see [Hindsight](hindsight.md).
			// Logged once a minute for each cause; `suppressed` is how many were not logged since
			// the last one.
			s.log.Info("saving withheld lines", "cause", cause, "why", why, "held_bytes", saving.Bytes, "until", saving.Until.UTC().Format(time.RFC3339), "suppressed", suppressed)
		}
		s.journal.Add(mark.New(mark.DetailSaved, "cause", cause, "why", why, "from", at(saving.From), "until", at(saving.Until)))
	}
	return control.Saving{From: saving.From, Until: saving.Until, Bytes: saving.Bytes}, nil
}

// mayLog reports whether no saving of this cause was logged in the last minute. It returns how
// many were suppressed since the last one that was logged. With a short --hindsight, conditions
// can begin any number of savings. The marks have their own limit.
func (s *saving) mayLog(cause string, now time.Time) (suppressed int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	logged := s.logged[cause]
	if logged == nil {
		logged = &retry.Limiter{}
		s.logged[cause] = logged
	}
	return logged.Take(now)
}

// at returns a time in the format of marks, or "" for the zero time.
func at(t time.Time) string {
	if t.Unix() <= 0 {
		return ""
	}
	return t.UTC().Format(ul.TimeLayout)
}

// saves returns the function that a condition calls to save lines, or nil if no lines are held.
func (c *Config) saves(s *saving) func(cause, why string) {
	if c.Ship.PersistLevel <= ul.Trace || c.Ship.Hindsight == 0 {
		return nil
	}
	return func(cause, why string) { _, _ = s.save(cause, why) }
}
