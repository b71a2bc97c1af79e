package sidecar

import (
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/levels"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship"
)

// saving lets triggers, commands and annotations save the lines that are held in hindsight.
type saving struct {
	shipper *ship.Shipper // set before anything can ask
	journal *journal
	log     *slog.Logger

	mu     sync.Mutex
	logged map[string]time.Time // when a saving was last logged, by its cause
}

// ship returns the shipper of the source, whose lines are saved.
func (s *saving) ship(c *Config, reg prometheus.Registerer, log *slog.Logger) *ship.Shipper {
	s.shipper = ship.New(c.Ship, reg, log)
	return s.shipper
}

// save saves what is held, and marks that, unless it is being saved already.
func (s *saving) save(cause, why string) (levels.Saving, error) {
	saving, err := s.shipper.Save()
	if err != nil {
		return levels.Saving{}, err
	}
	if saving.Began {
		if s.mayLog(cause, time.Now()) {
			s.log.Info("saving withheld lines", "cause", cause, "why", why, "held_bytes", saving.Bytes, "until", saving.Until.UTC().Format(time.RFC3339))
		}
		s.journal.Add(mark.New(mark.DetailSaved, "cause", cause, "why", why, "from", at(saving.From), "until", at(saving.Until)))
	}
	return levels.Saving{From: saving.From, Until: saving.Until, Bytes: saving.Bytes}, nil
}

// mayLog reports whether no saving of the cause was logged in the last minute. A short
// --hindsight lets conditions begin any number of savings; the marks have their own limit.
func (s *saving) mayLog(cause string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.logged[cause]) < time.Minute {
		return false
	}
	s.logged[cause] = now
	return true
}

// at returns a time as marks have it, or nothing for none.
func at(t time.Time) string {
	if t.Unix() <= 0 {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000-0700")
}

// lookout returns what looks for the conditions on which lines are saved, or nil.
func (s *saving) lookout(c *Config) *levels.Lookout {
	t, err := ask.ParseTrigger(c.Levels.HindsightOn)
	if c.Ship.PersistLevel <= ul.Trace || c.Ship.Hindsight == 0 || err != nil || t.IsZero() {
		return nil
	}
	return levels.NewLookout(t, c.StallFloor, func(cause, why string) { _, _ = s.save(cause, why) })
}
