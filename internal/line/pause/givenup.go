package pause

// Names of a Cancel.
const (
	allocationFailure = "Allocation Failure"
	evacuationFailure = "Allocation Failure During Evacuation"
	upgraded          = "Upgrade To Full GC"
	upgrading         = "Degenerated GC upgrading to Full GC"              // of JDK 25
	cannotFinish      = "Cannot finish degeneration, upgrading to Full GC" // of JDK 17
)

// takeGivenUp handles a Failure or a Cancel of Shenandoah without a collection number, which a
// thread of the application has logged. The next degenerated or full collection makes room, but
// its own lines do not show the cause. If there was no room to which objects could be moved,
// the event belongs to the collection in progress.
func (j *Joiner) takeGivenUp(e *Event) {
	j.guess(e)
	if e.Kind == Failure || string(e.Name) == allocationFailure {
		j.runs.failed = true
		return
	}
	var newest *collecting
	for _, c := range j.open {
		if !c.ended && (newest == nil || c.GC > newest.GC) {
			newest = c
		}
	}
	if newest != nil {
		newest.givenUp(e)
	}
}

// givenUp records why Shenandoah gave up a collection.
func (c *collecting) givenUp(e *Event) {
	switch string(e.Name) {
	case upgraded, upgrading, cannotFinish:
		c.Marks |= Full
	case evacuationFailure:
		c.Marks |= EvacuationFailure
	}
}
