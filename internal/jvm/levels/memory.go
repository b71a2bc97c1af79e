package levels

import (
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"github.com/ullage/ullage/internal/jvm/plan"
)

// memory keeps the saved state up to date with the state of a plan, which is authoritative.
type memory struct {
	file    *plan.File
	plan    *plan.Plan
	log     *slog.Logger
	loaded  bool // load has read the saved state
	unsaved bool // the saved state differs from the state in memory
}

// load reads, once, the state that an earlier process saved. It ignores later
// changes of the file, because the application can write there.
func (m *memory) load(now time.Time) {
	if m.loaded {
		return
	}
	saved, err := m.file.Load(now)
	if saved != nil {
		m.plan.State = saved
	}
	m.loaded, m.unsaved = true, err != nil || saved != nil && !m.file.Whole()
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrPermission): // only the owner of the file can read it and check that it is sound
		// messages.md#log-levels: Another user wrote `SOURCE/.ullage/levels.json`. Run ullage as that
		// user, or as root.
		m.log.Warn("cannot read the saved log levels", "error", err, "hint", "run as the user who wrote them, or as root")
	default:
		// messages.md#log-levels: Another process changed the file. ullage uses the intact part and
		// replaces the file; a level that was raised before a crash may stay raised.
		m.log.Warn("saved log levels are damaged", "error", err, "hint", "the intact part is used, and the file is replaced")
	}
}

// save saves the state if it differs from before or has changed since the last save, or if another
// process has changed the file. It returns an error only if a crash would lose something.
func (m *memory) save(before *plan.State) error {
	s := m.plan.State
	if !m.unsaved && !m.file.Moved() && s.Same(before) {
		return nil
	}
	err := m.file.Save(s)
	if m.unsaved = err != nil; len(s.JVMs)+len(s.Raises)+len(s.Adopted) == 0 {
		return nil
	}
	return err
}
