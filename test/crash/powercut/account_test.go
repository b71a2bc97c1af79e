package powercut

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/ullage/ullage/internal/read/check"
	"github.com/ullage/ullage/internal/segment/owner"
)

// checked receives the result of a check and keeps the part about the stream.
type checked struct{ stream check.Stream }

func (c *checked) Lack(owner.Lack) error { return nil }
func (c *checked) Run(check.Run) error   { return nil }

func (c *checked) Stream(s check.Stream) error {
	c.stream = s
	return nil
}

// after is the log that the JVM of the next pod writes.
var after = func() (text []byte) {
	for i := range 40 {
		text = fmt.Appendf(text, "[%d.000s][info ][gc] after the power cut, line %d\n", i, i)
	}
	return text
}()

// account starts a sidecar on a state that a power cut may leave at a point. The error describes what is wrong
// with the copy afterwards.
func (m *machine) account(r *recording, p point, s state) error {
	err := errLeft
	for tries := 0; errors.Is(err, errLeft) && tries < 10; tries++ {
		if err = m.put(s); err == nil {
			err = m.ship(after)
		}
	}
	if err != nil {
		return err
	}
	text, lines, err := m.read()
	if err != nil {
		return fmt.Errorf("the copy is damaged after the start: %w", err)
	}
	kept, ok := bytes.CutSuffix(text, after)
	if !ok {
		return fmt.Errorf("the copy does not end with the lines after the power cut: it ends with %.200q", text[max(0, len(text)-200):])
	}
	if len(kept) > 0 && kept[len(kept)-1] != '\n' {
		return fmt.Errorf("the kept lines end in half a line: %.200q", kept[max(0, len(kept)-200):])
	}
	holes := r.fill(p, kept)
	if err := r.holds(p, kept); err != nil {
		return err
	}
	total, said, err := m.check()
	if err != nil {
		return err
	}
	if total.Lines != uint64(lines) {
		return fmt.Errorf("check counts %d lines, there are %d", total.Lines, lines)
	}
	if total.Complete != (holes == 0) || said.DamagedBytes != int64(holes) {
		return fmt.Errorf("there are %d bytes of holes, but check says %+v, and of the stream %+v", holes, total, said)
	}
	if len(m.sinks.URLs) > 0 {
		return r.copies(p, kept, asWritten(m.copied.Bytes()))
	}
	return nil
}

// copies returns an error if the sink lacks lines. The sink had p.copied bytes at the point, and got more after
// the start. It may get lines again.
func (r *recording) copies(p point, kept, more []byte) error {
	lines := append(bytes.Clone(kept), after...)
	rest, ok := bytes.CutSuffix(lines, more)
	if !ok {
		return fmt.Errorf("the sink got lines that are not the end of the copy: %.200q", more)
	}
	if from := bytes.Index(r.text, kept) + len(rest); from > p.copied {
		return fmt.Errorf("lines are lost for the sink: it had %d bytes, and goes on at %d", p.copied, from)
	}
	return nil
}

// fill fills the holes in lines that were kept without compression and returns the number of bytes in holes. Only
// lines that were never committed may have holes. A recovery must not cut holes off: zeros that the application has
// written look the same, and the application can cause a recovery.
func (r *recording) fill(p point, kept []byte) (holes int) {
	for i := p.safe; i < len(kept) && i < len(r.text); i++ {
		if kept[i] == 0 {
			kept[i] = r.text[i]
			holes++
		}
	}
	return holes
}

// holds returns an error if the kept text lacks a part that it must have after a power cut at the point.
func (r *recording) holds(p point, kept []byte) error {
	at := bytes.Index(r.text, kept)
	if at < 0 {
		same := 0
		for same < len(kept) && same < len(r.text) && kept[same] == r.text[same] {
			same++
		}
		return fmt.Errorf("the kept text differs from the written one: %d bytes, different at %d: %.100q", len(kept), same, kept[same:])
	}
	if len(kept) == 0 {
		at = p.begin
	}
	if at > p.begin {
		return fmt.Errorf("the beginning is lost: the kept text begins at %d, not at %d", at, p.begin)
	}
	if at+len(kept) < p.safe {
		return fmt.Errorf("committed lines are lost: the kept text ends at %d, but %d bytes were committed", at+len(kept), p.safe)
	}
	return nil
}
