package attach

import "time"

// CalmInterval is how often a [Search] is due while nothing suggests a new JVM: even a process
// that has been a shell for a long time may have become a JVM.
const CalmInterval = time.Minute

// Search decides when to look for JVMs. A look examines every process of the
// pod, so an idle sidecar must not do so all the time. The first look is due at once.
type Search struct {
	// Looks is how many consecutive looks are due after a change: a new process takes a while to
	// become a JVM that listens.
	Looks int

	around uint64    // the surroundings at the last look
	left   int       // remaining consecutive looks
	looked time.Time // when the last look was
}

// Due reports whether a look is due, because [Client.Surroundings], which is passed as around, has
// changed recently, because a JVM has ended, or because the last look was long ago.
func (s *Search) Due(around uint64, ended bool, now time.Time) bool {
	if ended || around != s.around {
		s.around, s.left = around, s.Looks
	}
	if age := now.Sub(s.looked); s.left == 0 && age >= 0 && age < CalmInterval {
		return false
	}
	s.left, s.looked = max(0, s.left-1), now
	return true
}
