package cat

import (
	"bytes"
	"context"
	"strconv"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/line/ul"
)

// verbatim reports whether the bytes of the only series are printed without being examined.
func (p *Printer) verbatim() bool {
	return !p.named && !p.colored && !p.cfg.selects() && !p.cfg.JSON && !p.cfg.Follow && p.cfg.Tail == 0
}

// copy prints all bytes of the series.
func (s *series) copy(ctx context.Context) error {
	for !s.over {
		more, err := s.read(ctx)
		if err != nil {
			return err
		}
		if _, err := s.p.text.Write(s.source.Lines.Rest()); err != nil {
			return err
		}
		if s.source.Lines.Feed(nil); !more {
			s.finish()
		}
	}
	return nil
}

// drain prints the wanted lines among the bytes that were read.
func (s *series) drain() error {
	for {
		p, ok := s.source.Lines.Next()
		if !ok {
			return nil
		}
		if !s.pick.take(p, s.source.Lines.Rest()) {
			continue
		}
		s.cur = p
		if err := s.emit(); err != nil {
			return err
		}
	}
}

// emit prints the piece that next has moved to.
func (s *series) emit() error {
	p := s.p
	if s.cur.First && p.skip > 0 {
		p.skip--
		s.muted = true
		return nil
	}
	if s.muted = s.muted && !s.cur.First; s.muted {
		return nil
	}
	if p.cfg.listing() {
		p.list(s)
		return nil
	}
	if p.cfg.JSON {
		return p.printJSON(s)
	}
	return p.printPiece(s)
}

// printPiece prints a piece of a line of a series.
func (p *Printer) printPiece(s *series) error {
	if p.amid != s && len(s.cur.Text) == 0 {
		return nil // this is the end of a line that was already ended for a line of another series
	}
	out := p.buf[:0]
	if p.amid != s && p.amid != nil {
		out = append(out, '\n') // this ends a line of another series whose own end has not arrived
	}
	if p.amid != s && p.named {
		out = s.appendPrefix(out)
	}
	out = append(out, s.cur.Text...)
	p.amid = s
	if s.cur.Last {
		p.amid = nil
		// If bytes are missing here, a prefix or a line from elsewhere in the stream may come next. It
		// must begin on a new line of the output.
		if s.cur.Broken() && (p.named || p.cfg.selects()) {
			out = append(out, '\n')
		}
	}
	p.buf = out
	if p.colored {
		return p.printColored(out, colors[s.pick.line.Level])
	}
	_, err := p.text.Write(out)
	return err
}

// colors are the terminal escape sequences, by level.
var colors = [ul.NumLevels]string{ul.Error: "\x1b[31m", ul.Warning: "\x1b[33m", ul.Debug: "\x1b[2m", ul.Trace: "\x1b[2m"}

// printColored prints text in a color. If color is empty, it prints plain text.
func (p *Printer) printColored(text []byte, color string) error {
	if color == "" {
		_, err := p.text.Write(text)
		return err
	}
	line := bytes.TrimSuffix(text, []byte{'\n'})
	err := p.escape(color)
	if err == nil {
		_, err = p.screen.Write(line)
	}
	if err == nil {
		err = p.escape("\x1b[0m")
	}
	if err == nil {
		_, err = p.screen.Write(text[len(line):])
	}
	return err
}

// escape writes an escape sequence to the terminal, after flushing all text before it.
func (p *Printer) escape(code string) error {
	if err := p.screen.Flush(); err != nil {
		return err
	}
	_, err := p.out.WriteString(code)
	return err
}

// appendPrefix appends the prefix that shows the origin of a line: "gc.log: ", or
// "gc.log#2: " for the second JVM in the stream.
func (s *series) appendPrefix(text []byte) []byte {
	text = append(text, printable.Name(s.name)...)
	if run := s.pick.line.Run; run > 1 {
		text = append(text, '#')
		text = strconv.AppendInt(text, int64(run), 10)
	}
	return append(text, ": "...)
}
