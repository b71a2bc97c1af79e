package pause

// emitEnded reports the collections that have ended, except the collection with the
// given number.
func (j *Joiner) emitEnded(except int64) {
	for i := 0; i < len(j.open); {
		if c := j.open[i]; c.GC != except && j.hasAll(c, except >= 0) {
			j.emit(c)
			continue
		}
		i++
	}
}

// hasAll reports whether a collection has all its lines. Lines of Shenandoah may follow the
// last pause and its safepoint, until a later collection begins. With the other collectors,
// only the CPU times of the last pause may follow: G1 may log the beginning of a concurrent
// cycle before the CPU times of the pause that begins the cycle. CPU times always precede the
// line of the safepoint.
func (j *Joiner) hasAll(c *collecting, insideSafepoint bool) bool {
	switch {
	case j.run.Collector == Shenandoah:
		return c.ended && c.GC < j.newest || c.GC+1 < j.newest
	case insideSafepoint && j.timed && c.last == Pause && c.Count <= maxPauses && !c.pauses[c.Count-1].Times.Known:
		return c.ended && c.GC+1 < j.newest
	}
	return c.ended
}

// shown reports whether the log has a pause, a concurrent phase or the name of a collection.
func (c *collecting) shown() bool { return c.Count > 0 || c.Concurrent > 0 || c.Name != "" }

// emit reports a collection, unless the log has only its sizes or CPU times.
func (j *Joiner) emit(c *collecting) {
	for i, other := range j.open {
		if other == c {
			j.open = append(j.open[:i], j.open[i+1:]...)
			break
		}
	}
	c.Collector = j.run.Collector
	c.Pauses = c.pauses[:min(c.Count, maxPauses)]
	if j.handlers.Collection != nil && c.shown() {
		j.handlers.Collection(&c.Collection)
	}
	j.free = append(j.free, c)
}
