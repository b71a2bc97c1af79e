package tail

// noteCuts counts and reports what the JVM lost in data of f, which lies at offset. Open says
// that data begins inside a line.
func (e *env) noteCuts(f *File, data []byte, offset int64, open bool) {
	cuts, lost := f.counted.takeCuts(data, offset, open)
	if cuts == 0 {
		return
	}
	e.metrics.countCuts(f.stream.label, cuts, lost)
	if e.log.notTooOften(&e.log.cut, e.now()) {
		e.log.Warn("the JVM lost lines on a full tmpfs", "stream", f.stream.label, "seconds", lost.Seconds(),
			"hint", "the sidecar had no CPU time, or the tmpfs is too small for what the JVM writes meanwhile")
	}
}
