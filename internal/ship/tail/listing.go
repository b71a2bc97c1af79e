package tail

import (
	"time"

	"github.com/ullage/ullage/internal/base/kernel"
)

// listing is what was found in the source directory, as of the last time that it
// was listed, and when it is due again.
type listing struct {
	ignored map[string]int64 // entries that it left alone, by reason
	leaves  hidden           // streams of the entries that it left alone and may follow later
	hidden  hidden           // ... as of the last scan that saw the whole directory
	stale   bool             // a scan is due
	after   time.Time        // ... but not before
	denied  *kernel.User     // whose files we may not read; nil: there are none
	pass    int              // listings so far
	waited  int              // the last of them in which a file waited, since too many are held; 0: none
	awaited time.Time        // since when files have waited for a descriptor; zero: none does
	round   int              // counts the scans that left out nothing: what comes later is younger

	upTo time.Time // the last change of the directory that the last scan is sure to have seen
}

// hidden are refused streams that may have files which are not held. Streams that
// the destination takes are not in it: that would be a name for every file that
// waits.
type hidden map[string]struct{}

func newListing() *listing {
	return &listing{ignored: map[string]int64{}, leaves: hidden{}, hidden: hidden{}, round: 1}
}

// begin begins another listing.
func (l *listing) begin() {
	l.pass++
	clear(l.ignored)
	clear(l.leaves)
	l.denied = nil
}

// hide notes that a refused stream has a file that is not held, or may have one: no
// listing has looked for its files since it was refused.
func (l *listing) hide(stream string) {
	l.leaves[stream] = struct{}{}
	l.hidden[stream] = struct{}{}
}

// sawAll notes that the last listing saw the whole directory.
func (l *listing) sawAll() { l.leaves, l.hidden = l.hidden, l.leaves }

// leaveOut counts an entry that is not followed, for a reason.
func (l *listing) leaveOut(reason string) {
	l.ignored[reason]++
	if reason == IgnoredTooMany {
		l.waited = l.pass
	}
}

// expire makes a scan due.
func (l *listing) expire() { l.stale = true }

// mtimeStep is longer than the step of the clock that a file system takes times
// from, which is that of the kernel's tick.
const mtimeStep = 20 * time.Millisecond

// sawUpTo notes that a scan began at a time, when the last change of the directory was at
// another. A change that was so recent that a later one may have the same time is not
// noted. One in the future is: the clock was set back, and a later change has another time.
func (l *listing) sawUpTo(changed, began time.Time) {
	l.upTo = time.Time{}
	if age := began.Sub(changed); age < 0 || age >= mtimeStep {
		l.upTo = changed
	}
}

// outdated reports whether the directory has changed since the last scan began, or may
// have, where its last change was at a time.
func (l *listing) outdated(changed time.Time) bool { return !changed.Equal(l.upTo) }

// leftOut reports whether the last listing had a file that may be followed
// later, and so be older than one that was found now.
func (l *listing) leftOut() bool {
	for reason, n := range l.ignored {
		if n > 0 && followedLater(reason) {
			return true
		}
	}
	return false
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
// CPU time of the thread. Only CPU time counts: on a busy machine a thread can
// wait 25 ms for a processor in the middle of a scan, and during a rest of four
// times that, a JVM that rotates small files would overwrite an archive unseen.
func (l *listing) rest(began, end time.Time, cpu time.Duration) {
	l.after = end.Add(scanRest * min(end.Sub(began), cpu))
}
