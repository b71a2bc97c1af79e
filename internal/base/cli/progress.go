package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/ullage/ullage/internal/base/printable"
)

const (
	progressEvery = 200 * time.Millisecond
	progressWidth = 78 // a line that wraps cannot be replaced
)

// Progress shows how far a long task has come, on one line of a terminal: each text replaces
// the previous one. A nil Progress shows nothing. It is not safe for concurrent use.
type Progress struct {
	w     io.Writer
	since time.Time // when the work began
	shown time.Time // when the last text was shown, or at first when the work began
	width int       // of the text on the terminal; 0: there is no text
}

// NewProgress returns a Progress for work that begins now, or nil if w is not a terminal.
func NewProgress(w io.Writer) *Progress {
	if NewScreen(w) == nil {
		return nil
	}
	return newProgress(w)
}

func newProgress(w io.Writer) *Progress {
	now := time.Now()
	return &Progress{w: w, since: now, shown: now}
}

// Read shows how many bytes of a total were read. It may be called often. It shows nothing for
// work that takes less than progressEvery.
func (p *Progress) Read(done, total int64) {
	if p == nil || time.Since(p.shown) < progressEvery {
		return
	}
	p.shown = time.Now()
	p.show(fmt.Sprintf("reading: %s of %s", printable.Bytes(done), printable.Bytes(total)))
}

// Show shows a text in place of the previous one. It may be called often.
func (p *Progress) Show(text string) {
	if p == nil || p.width > 0 && time.Since(p.shown) < progressEvery {
		return
	}
	p.shown = time.Now()
	p.show(text)
}

// Wait shows a text with the seconds that have passed since the work began, until stop is
// called. No other method may be called before that.
func (p *Progress) Wait(text string) (stop func()) {
	if p == nil {
		return func() {}
	}
	ended := make(chan struct{})
	var ticking sync.WaitGroup
	p.show(text + " ...")
	ticking.Go(func() {
		ticks := time.NewTicker(time.Second)
		defer ticks.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticks.C:
				p.show(fmt.Sprintf("%s ... %.0f s", text, time.Since(p.since).Seconds()))
			}
		}
	})
	return func() {
		close(ended)
		ticking.Wait()
		p.Clear()
	}
}

// Clear removes the text. Call Clear before other output to the terminal.
func (p *Progress) Clear() {
	if p != nil && p.width > 0 {
		fmt.Fprintf(p.w, "\r%*s\r", p.width, "")
		p.width = 0
	}
}

// show overwrites the rest of a longer text with blanks, because not every console supports the
// escape sequence that clears a line.
func (p *Progress) show(text string) {
	text = printable.Clip(text, progressWidth)
	width := utf8.RuneCountInString(text)
	fmt.Fprint(p.w, "\r", text, strings.Repeat(" ", max(0, p.width-width)))
	p.width = width
}
