package cat

import (
	"bytes"
	"context"
)

// print prints everything of the series that was not printed before.
func (s *series) print(ctx context.Context) error {
	if s.p.verbatim() {
		return s.copy(ctx)
	}
	for {
		more, err := s.next(ctx)
		if err != nil || !more {
			return err
		}
		if err := s.emit(); err != nil {
			return err
		}
	}
}

// verbatim reports whether the bytes of a series are printed without a look at them.
func (p *Printer) verbatim() bool {
	return !p.cfg.selects() && !p.cfg.Follow && p.cfg.Tail == 0
}

// copy prints all bytes of the series.
func (s *series) copy(ctx context.Context) error {
	for !s.over {
		raw, err := s.read(ctx)
		if err != nil {
			return err
		}
		if raw == nil {
			s.finish()
		}
		if _, err := s.p.out.Write(raw); err != nil {
			return err
		}
	}
	return nil
}

// drain prints what is wanted of the bytes that were read.
func (s *series) drain() error {
	for {
		p, ok := s.lines.next()
		if !ok {
			return nil
		}
		if !s.pick.take(p) {
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
	if s.cur.first && p.skip > 0 {
		p.skip--
		s.muted = true
		return nil
	}
	if s.muted = s.muted && !s.cur.first; s.muted {
		return nil
	}
	if p.cfg.Gaps {
		p.listGap(s.name, *s.pick.line.gap)
		return nil
	}
	if _, err := p.out.Write(s.cur.text); err != nil {
		return err
	}
	// Where bytes are missing and some lines are not wanted, the next line begins on
	// its own.
	if s.cur.last && p.cfg.selects() && !bytes.HasSuffix(s.cur.text, []byte{'\n'}) {
		return p.out.WriteByte('\n')
	}
	return nil
}
