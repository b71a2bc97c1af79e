package sum

import (
	"slices"
	"time"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/read/report/view"
)

const (
	maxLongest   = 10 // stops
	maxSuspected = 20
)

// lists holds the stops that the report describes. The zero value has none.
type lists struct {
	longest   []view.Stop
	suspected []*view.Stop
	waited    uint64 // number of suspected stops in which the JVM seems to have waited for the machine
	unshipped uint64 // number of these stops in a log that no sidecar shipped
}

// offer offers a stop to the list of the longest stops and returns the place for its
// description.
func (l *lists) offer(d time.Duration) *view.Stop {
	all := l.longest
	i := len(all)
	for i > 0 && all[i-1].Length < d {
		i--
	}
	if i >= maxLongest {
		return nil
	}
	if len(all) < maxLongest {
		all = append(all, view.Stop{})
	}
	copy(all[i+1:], all[i:])
	all[i] = view.Stop{Length: d, Duration: seconds(d)}
	l.longest = all
	return &all[i]
}

// suspect offers a stop to the list of the longest suspected stops and returns the place for
// its description. shipped means that a sidecar has shipped the log.
func (l *lists) suspect(d time.Duration, suspicion pause.Suspicion, shipped bool) *view.Stop {
	if suspicion == pause.Idle || suspicion == pause.Outside {
		l.waited++
		if !shipped {
			l.unshipped++
		}
	}
	i := slices.IndexFunc(l.suspected, func(s *view.Stop) bool { return s.Length < d })
	if i < 0 {
		i = len(l.suspected)
	}
	if i >= maxSuspected {
		return nil
	}
	to := &view.Stop{Length: d, Duration: seconds(d)}
	l.suspected = slices.Insert(l.suspected, i, to)
	l.suspected = l.suspected[:min(len(l.suspected), maxSuspected)]
	return to
}
