package tail

import "github.com/ullage/ullage/internal/ship/source"

// noteCuts counts and reports the lines in data that the JVM could not complete. data is at offset
// in f. open means that data begins inside a line.
func (e *env) noteCuts(f *source.File, data []byte, offset int64, open bool) {
	cuts, lost := f.Counted.TakeCuts(data, offset, open)
	if cuts == 0 {
		return
	}
	e.metrics.countCuts(f.Stream.Label, cuts, lost)
	if e.log.cut.Allow(e.now()) {
		// messages.md#the-jvms: The sidecar had no CPU time, or the tmpfs is too small. `seconds`
		// is how long the log has no lines for. Logged at most once a minute. See `ullage logs
		// --gaps`.
		e.log.Warn("the JVM lost lines on a full tmpfs", "stream", f.Stream.Label, "seconds", lost.Seconds(),
			"hint", "the sidecar got no CPU time, or the tmpfs is too small for the lines that the JVM writes before the sidecar can free memory")
	}
}
