package ship

import (
	"log/slog"
	"time"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/ship/tail"
)

// reader owns the source. Everything in it is used by one goroutine.
type reader struct {
	cfg  Config
	to   Outlets
	log  *slog.Logger
	link *link
	src  *tail.Source
	view *view

	poll *kernel.Timer
	pace *kernel.Timer

	read int  // bytes read in the last round
	full bool // the last round ended because the queue has no room
	more bool // the last round ended because it had run long enough

	eventful bool // JVMs wrote to refused streams, which are not read

	caught catching

	handled time.Time // when events last had a turn
	shown   time.Time // when the view was last updated

	load load

	waits  waits
	drain  draining
	budget *budget
	press  *pressure
}

// pollInterval is the interval of the slow poll, which is needed in case events were
// missed.
const pollInterval = time.Second

// waits records which reasons for waiting for the source were logged: the source is missing,
// or another sidecar owns it.
type waits struct{ missing, owned bool }

// draining is the state of a drain.
type draining struct {
	on     bool
	since  time.Time
	silent bool // no process writes any more, or waiting for that has taken too long
	asked  bool // the writer was asked to flush

	waiting int // files that still waited for a place after the last flush
}

// goesOn reports, after a flush, whether files that waited for a place can be read now: the
// reader closes some other files after each flush. It returns false once the number of waiting
// files no longer decreases.
func (d *draining) goesOn(waiting int) bool {
	was := d.waiting
	d.waiting = waiting
	return waiting > 0 && (was == 0 || waiting < was)
}
