package tail

import (
	"strconv"

	"github.com/ullage/ullage/internal/line/mark"
)

// truncations begins with what is in files now that were truncated in place, and reports
// that. What was neither read nor moved before is lost.
type truncations struct {
	*env
	contents *contents
}

// truncated begins with what is in a file now that was truncated in place.
func (t *truncations) truncated(f *File) {
	t.metrics.truncations.Inc()
	front, _, _ := f.front()
	t.report(f, front)
	if t.log.notTooOften(&t.log.truncated, t.now()) {
		t.log.Warn("source file was truncated in place",
			"file", f.name, "stream", f.stream.name, "position", f.read.Offset,
			"hint", "lines that were neither read nor moved are lost; let the JVM rotate with filecount=1 or more; further truncations of this minute are only counted")
	}
	t.contents.renew(f)
}

// report marks that a file was truncated, and up to where it had been read or moved
// before. Nobody knows how much was behind that.
func (t *truncations) report(f *File, front int64) {
	t.mark(mark.Truncated, "stream", f.stream.name, "read-to", strconv.FormatInt(front, 10))
}

// rewind goes back to what is committed of f.
func (t *truncations) rewind(f *File) {
	front, _, _ := f.front()
	if err := t.contents.rewind(f); err != nil {
		t.metrics.truncations.Inc()
		t.report(f, front)
		t.log.Warn("source file changed before its position", "error", err, "hint", "it is read from its beginning")
	}
}

// rewindAll goes back to what is committed of everything.
func (t *truncations) rewindAll() {
	for _, f := range t.contents.files {
		t.rewind(f)
	}
	t.contents.open.rewind()
}
