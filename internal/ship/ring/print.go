package ring

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/ul"
)

// Contents is what Print has found beside events.
type Contents struct {
	Events  int
	Skipped int64 // bytes between them: claims that were not completed, and events that were being overwritten
	Dropped ul.Gap
}

// Print prints the events of a ring or flight recorder that are in its file: those that it has not overwritten,
// or that no sidecar has taken out. It changes nothing. The JVM may live, and write meanwhile. Each event is
// a line
//
//	TIME (DELTA): MESSAGE
//
// where DELTA is the time since the event before, in seconds. Further lines of a message follow
// as they are.
func Print(w io.Writer, path string) (Contents, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return Contents{}, err // its text names the path
	}
	f, err := openFile(&calls{}, unix.AT_FDCWD, path)
	if err != nil {
		return Contents{}, fmt.Errorf("%s: %w", path, err)
	}
	defer f.close()
	p := &printer{file: f, render: renderer{file: f, templates: templates{file: f}}, out: bufio.NewWriter(w), block: make([]byte, 2*blockBytes)}
	err = p.run()
	if flushErr := p.out.Flush(); err == nil && flushErr != nil {
		err = fmt.Errorf("print: %w", flushErr)
	}
	return p.found, err
}

type printer struct {
	file   *file
	render renderer
	out    *bufio.Writer
	block  []byte
	line   []byte
	last   int64 // time of the event before
	found  Contents
}

// run prints what there is when it begins.
func (p *printer) run() error {
	c, err := p.file.control()
	if err != nil {
		return err
	}
	p.found.Dropped.Lines, p.found.Dropped.Bytes = c.dropped.lines, c.dropped.bytes
	pos := oldest(c, p.file)
	for pos < c.tail {
		n, err := p.events(pos, c.tail)
		if err != nil {
			return err
		}
		pos += n
	}
	return nil
}

// oldest returns the position of the oldest event that may be in the file, or a place in front of it.
func oldest(c control, f *file) uint64 {
	from := uint64(0)
	if c.tail > f.capacity {
		from = c.tail - f.capacity
	}
	if !f.recorder && c.intact && c.head > from && c.head <= c.tail {
		from = c.head
	}
	return (from + 7) &^ 7
}

// events prints the events from a position on, as far as they are in one block, and returns how
// many bytes of the ring that was: at least 8.
func (p *printer) events(pos, tail uint64) (uint64, error) {
	most := min(tail-pos, p.file.span(pos), uint64(len(p.block)))
	b := p.block[:most&^7]
	if len(b) == 0 {
		return most, nil
	}
	if err := p.file.data(b, pos); err != nil {
		return 0, err
	}
	c, err := p.file.control()
	if err != nil {
		return 0, err
	}
	n := 0
	if over := oldest(c, p.file); over > pos { // overwritten while it was read
		n = int(min(over-pos, most))
		p.found.Skipped += int64(n)
	}
	for n < len(b) {
		w := parseWord(le.Uint64(b[n:]), pos+uint64(n))
		switch {
		case w.state == complete && n+w.size > len(b) && n > 0:
			return uint64(n), nil // it is whole in the next block
		case w.state != complete || n+w.size > len(b):
			p.found.Skipped += 8
			n += 8
			continue
		case w.kind != kindPad:
			if err := p.event(b[n:n+w.size], w); err != nil {
				return 0, err
			}
		}
		n += w.size
	}
	return uint64(n), nil
}

// event prints one event.
func (p *printer) event(rec []byte, w word) error {
	nanos := int64(le.Uint64(rec[timeAt:]))
	delta := nanos - p.last
	if p.found.Events == 0 {
		delta = 0
	}
	p.last = nanos
	p.found.Events++
	b := time.Unix(0, p.file.offset+nanos).UTC().AppendFormat(p.line[:0], "2006-01-02T15:04:05.000000000Z")
	b = append(b, " ("...)
	b = strconv.AppendFloat(append(b, sign(delta)...), float64(delta)/1e9, 'f', 9, 64)
	b = p.render.message(append(b, "): "...), rec, w)
	p.line = b
	if _, err := p.out.Write(b); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

func sign(n int64) string {
	if n < 0 {
		return "" // AppendFloat writes it
	}
	return "+"
}
