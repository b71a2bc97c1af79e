package tail

import "time"

// listing is what the names in the source directory are, as of the last time
// that it was listed and the events since.
type listing struct {
	names    map[string]*File
	spare    map[string]*File // the map for the names of the next listing
	renamed  []*Stream        // have a file with a new name, during a scan
	ignored  map[string]int   // entries that the last listing left alone, by reason
	stale    bool             // a scan is due
	after    time.Time        // ... but not before
	pass     int              // listings so far
	round    int              // counts the scans that left out nothing: what comes later is younger
	countsUp bool             // inode numbers tell the order of files
}

func newListing() listing {
	return listing{names: map[string]*File{}, spare: map[string]*File{}, ignored: map[string]int{}, round: 1}
}

// begin begins another listing, and returns the names of the one before. They
// are valid until the next begin.
func (l *listing) begin() (was map[string]*File) {
	l.pass++
	clear(l.ignored)
	clear(l.spare)
	l.names, l.spare = l.spare, l.names
	return l.spare
}

// leftOut reports whether the last listing had a file that may be followed
// later, and so be older than one that was found now.
func (l *listing) leftOut() bool {
	return l.ignored[ignoreLinks]+l.ignored[IgnoredPermission]+l.ignored[IgnoredTooMany]+l.ignored[IgnoredError] > 0
}

// crowded reports whether files wait until others are closed.
func (l *listing) crowded() bool { return l.ignored[IgnoredTooMany] > 0 }

// rest puts off the next scan after one that began at a time, and took so much
// CPU time of the thread. Only work counts: on a busy machine a thread can wait
// 25 ms for a processor in the middle of a scan, and after a rest of four times
// that a JVM that rotates small files would have overwritten an archive unseen.
func (l *listing) rest(began, end time.Time, cpu time.Duration) {
	// Another thread may have ended the scan, whose CPU time says nothing.
	work := max(0, min(end.Sub(began), cpu))
	l.after = end.Add(scanRest * work)
}
