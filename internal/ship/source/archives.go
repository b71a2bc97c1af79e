package source

// Archives remembers the last archive of a stream that was seen. HotSpot numbers archives in a
// cycle, so a missing number is an archive that was created and overwritten unseen. (If a whole
// cycle goes unseen, no number is missing, so the count is a lower bound.)
type Archives struct {
	next    int // the number that the next archive should have; 0 before the first one
	waiting int // the last listing in which a file of the stream waited because too many files were held; 0: none
}

// Wait records that a file of the stream waits in a listing.
func (a *Archives) Wait(pass int) { a.waiting = pass }

// Take records that an archive was found, and returns how many archives are missing before
// it. A JVM that starts may begin at 0 again. Archives that waited are found in any order,
// so Take then reports none as missing.
func (a *Archives) Take(number int) (missing int) {
	switch {
	case a.waiting > 0 || a.next == 0 || number == 0:
	case number > a.next:
		missing = number - a.next
	case number < a.next:
		missing = number
	}
	a.next = number + 1
	return missing
}

// Settle ends a scan whose last listing is pass. If archives waited, counting starts over.
func (a *Archives) Settle(pass int) {
	if a.waiting == 0 {
		return
	}
	a.next = 0
	if a.waiting < pass {
		a.waiting = 0
	}
}
