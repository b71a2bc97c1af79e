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

	read int  // bytes in the last round
	full bool // that round ended because the queue has no room
	more bool // that round ended because it was long enough

	eventful bool // JVMs wrote to refused streams, which reading does not show

	caughtUp time.Time // when everything written had been read; at first, long ago

	handled time.Time // when events last had a turn
	shown   time.Time // when the view was last brought up to date

	load load

	waits  waits
	drain  draining
	budget *budget
	press  *pressure
}

// pollInterval is the slow poll, in case events were missed.
const pollInterval = time.Second

// waits notes which reasons for waiting for the source were logged: it is missing, or another
// sidecar owns it.
type waits struct{ missing, owned bool }

// draining is how far the end has come.
type draining struct {
	on     bool
	since  time.Time
	silent bool // no process writes any more, or waiting for that takes too long
	asked  bool // the writer was asked to flush

	waiting int // files that waited for a place, and had one, after the last flush
}

// goesOn reports, after a flush, whether files that waited for a place can be read now, since
// the reader closes some of the others after each flush. It returns false once the number of
// waiting files does not fall.
func (d *draining) goesOn(waiting int) bool {
	was := d.waiting
	d.waiting = waiting
	return waiting > 0 && (was == 0 || waiting < was)
}
