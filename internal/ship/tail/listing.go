package tail

import (
	"time"

	"github.com/ullage/ullage/internal/base/kernel"
)

// listing is the result of the last listing of the source directory, with the time of
// the next one.
type listing struct {
	ignored map[string]int64 // entries that are not followed, by reason
	leaves  hidden           // the refused streams of entries that may be followed later
	hidden  hidden           // the same, for the last scan that saw the whole directory
	stale   bool             // a scan is due
	after   time.Time        // the earliest time of that scan
	denied  *kernel.User     // a user whose files we may not read; nil if there is none
	pass    int              // listings so far
	waited  int              // the last listing in which a file waited because too many files were held; 0: none
	awaited time.Time        // since when files have been waiting for a descriptor; zero: no file waits
	round   int              // number of scans that left nothing out; files that are found later are younger

	upTo time.Time // the last change of the directory that the last scan has certainly seen
}

// hidden is the set of refused streams that may have files which are not held. Streams that the
// destination accepts are left out: with them, the set would need a name for every file that
// waits.
type hidden map[string]struct{}

func newListing() *listing {
	return &listing{ignored: map[string]int64{}, leaves: hidden{}, hidden: hidden{}, round: 1}
}

// begin begins the next listing.
func (l *listing) begin() {
	l.pass++
	clear(l.ignored)
	clear(l.leaves)
	l.denied = nil
}

// hide records that a refused stream has, or may have, a file that is not held. It may have
// one if no listing has looked for its files since it was refused.
func (l *listing) hide(stream string) {
	l.leaves[stream] = struct{}{}
	l.hidden[stream] = struct{}{}
}

// sawAll records that the last listing saw the whole directory.
func (l *listing) sawAll() { l.leaves, l.hidden = l.hidden, l.leaves }

// leaveOut counts an entry that is not followed, by reason.
func (l *listing) leaveOut(reason string) {
	l.ignored[reason]++
	if reason == IgnoredTooMany {
		l.waited = l.pass
	}
}

// expire makes a scan due.
func (l *listing) expire() { l.stale = true }

// mtimeStep is longer than a step of the file system's clock, which advances with the
// kernel's tick.
const mtimeStep = 20 * time.Millisecond

// sawUpTo records the last change of the directory before a scan began. It does not record a
// change so recent that a later change may have the same timestamp. It does record a change in
// the future: the clock was set back, so a later change has a different timestamp.
func (l *listing) sawUpTo(changed, began time.Time) {
	l.upTo = time.Time{}
	if age := began.Sub(changed); age < 0 || age >= mtimeStep {
		l.upTo = changed
	}
}

// outdated reports whether the directory has changed, or may have, since the last scan began,
// given the time of its last change.
func (l *listing) outdated(changed time.Time) bool { return !changed.Equal(l.upTo) }

// leftOut reports whether the last listing had a file that may be followed later. Such a
// file may be older than a file that was found now.
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

// end ends a scan. placed means that the scan found a place for each file.
func (l *listing) end(placed bool) {
	if !placed {
		l.expire()
	} else if !l.leftOut() {
		l.round++
	}
}

// rest postpones the next scan after one that ran from begin to end and used the given CPU time
// of the thread. The pause depends on the CPU time: on a busy machine, a thread can wait 25 ms
// for a processor in the middle of a scan. During a pause of four times that, a JVM that
// rotates small files would overwrite an archive before it is seen.
func (l *listing) rest(began, end time.Time, cpu time.Duration) {
	l.after = end.Add(scanRest * min(end.Sub(began), cpu))
}
