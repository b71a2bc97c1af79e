package tail

import "time"

// listing is what was found in the source directory, as of the last time that it
// was listed, and when it is due again.
type listing struct {
	ignored map[string]int // entries that it left alone, by reason
	stale   bool           // a scan is due
	after   time.Time      // ... but not before
	pass    int            // listings so far
	waited  int            // the last of them in which a file waited, since too many are held; 0: none
	round   int            // counts the scans that left out nothing: what comes later is younger
}

func newListing() *listing { return &listing{ignored: map[string]int{}, round: 1} }

// begin begins another listing.
func (l *listing) begin() {
	l.pass++
	clear(l.ignored)
}

// leaveOut counts an entry that is not followed, for a reason.
func (l *listing) leaveOut(reason string) {
	l.ignored[reason]++
	if reason == IgnoredTooMany {
		l.waited = l.pass
	}
}

// expire makes a scan due.
func (l *listing) expire() { l.stale = true }

// leftOut reports whether the last listing had a file that may be followed
// later, and so be older than one that was found now.
func (l *listing) leftOut() bool {
	return l.ignored[ignoreLinks]+l.ignored[IgnoredPermission]+l.ignored[IgnoredTooMany]+l.ignored[IgnoredError] > 0
}

// crowded reports whether files wait until others are closed.
func (l *listing) crowded() bool { return l.ignored[IgnoredTooMany] > 0 }

// end ends a scan, which has found a place for each file or not.
func (l *listing) end(placed bool) {
	if !placed {
		l.expire()
	} else if !l.leftOut() {
		l.round++
	}
}

// rest puts off the next scan after one that began at a time, and took so much
// CPU time of the thread. Only work counts: on a busy machine a thread can wait
// 25 ms for a processor in the middle of a scan, and after a rest of four times
// that a JVM that rotates small files would have overwritten an archive unseen.
func (l *listing) rest(began, end time.Time, cpu time.Duration) {
	// Another thread may have ended the scan, whose CPU time says nothing.
	work := max(0, min(end.Sub(began), cpu))
	l.after = end.Add(scanRest * work)
}
