package tail

import (
	"strconv"

	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/ship/source"
)

// truncations restarts the reading of files that were truncated in place and reports them.
// Lines that were neither read nor moved before are lost.
type truncations struct {
	*env
	table *source.Table
}

// truncated restarts the reading of a file that was truncated in place.
func (t *truncations) truncated(f *source.File) {
	t.metrics.truncations.Inc()
	front, _, _ := f.Front()
	t.report(f, front)
	if t.log.truncated.Allow(t.now()) {
		// messages.md#the-source: Most likely by a JVM with `filecount=0`, or by `copytruncate`.
		// Unread lines are lost, except those in the spool. Let the JVM rotate with `filecount=1`
		// or more.
		t.log.Warn("source file was truncated in place",
			"file", f.Entry.Name, "stream", f.Stream.Name, "position", f.Read.Offset,
			"hint", "lines that were neither read nor moved are lost; let the JVM rotate with filecount=1 or more; further truncations of this minute are only counted")
	}
	t.table.Renew(f)
}

// report marks that a file was truncated, and how far it had been read or moved before. How
// much data followed in the file is unknown.
func (t *truncations) report(f *source.File, front int64) {
	t.mark(mark.Truncated, "stream", f.Stream.Name, "read-to", strconv.FormatInt(front, 10))
}

// rewind returns to the committed position of f.
func (t *truncations) rewind(f *source.File) {
	front, _, _ := f.Front()
	if err := t.table.Rewind(f); err != nil {
		t.metrics.truncations.Inc()
		t.report(f, front)
		// messages.md#the-source: Another process rewrote a part of the file that had already been
		// read. ullage reads the file again from its beginning.
		t.log.Warn("source file changed before its position", "error", err, "hint", "the file is read from its beginning")
	}
}

// rewindAll returns to the committed positions of all files.
func (t *truncations) rewindAll() {
	for _, f := range t.table.Files {
		t.rewind(f)
	}
	t.table.OpenLines.Rewind()
}
