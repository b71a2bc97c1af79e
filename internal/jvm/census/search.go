package census

import "time"

// calmInterval is how often a [Census] looks for JVMs where nothing suggests that there
// is a new one: a shell that has waited for long may have become a JVM.
const calmInterval = time.Minute

// search decides when a [Census] looks for JVMs. A look examines every process of the
// pod, so an idle sidecar must not do so all the time. The zero value looks at once.
type search struct {
	around uint64    // what was there last
	left   int       // looks in a row: a new process takes a while to become a JVM that listens
	looked time.Time // the last look
}

// due reports whether a look is due: around has changed lately, a JVM has ended, or the
// last look is long ago.
func (s *search) due(around uint64, ended bool, now time.Time) bool {
	if ended || around != s.around {
		s.around, s.left = around, maxAsked
	}
	if s.left == 0 && now.Sub(s.looked) < calmInterval {
		return false
	}
	s.left, s.looked = max(0, s.left-1), now
	return true
}
