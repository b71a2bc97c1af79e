package powercut

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/ullage/ullage/internal/read/check"
	"github.com/ullage/ullage/internal/segment/owner"
)

// deaf receives the results of a check that are in its total as well.
type deaf struct{}

func (deaf) Lack(owner.Lack) error     { return nil }
func (deaf) Run(check.Run) error       { return nil }
func (deaf) Stream(check.Stream) error { return nil }

// after is what the JVM of the next pod writes.
var after = func() (text []byte) {
	for i := range 40 {
		text = fmt.Appendf(text, "[%d.000s][info ][gc] after the power cut, line %d\n", i, i)
	}
	return text
}()

// account starts a sidecar on a state that a power cut has left at a point. The error says
// what is wrong with the copy afterwards.
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
	text, err := m.read()
	if err != nil {
		return fmt.Errorf("the copy is damaged after the start: %w", err)
	}
	kept, ok := bytes.CutSuffix(text, after)
	if !ok {
		return fmt.Errorf("the lines after the power cut are not at the end, once: it is %.200q", text[max(0, len(text)-200):])
	}
	if len(kept) > 0 && kept[len(kept)-1] != '\n' {
		return fmt.Errorf("what was kept ends in half a line: %.200q", kept[max(0, len(kept)-200):])
	}
	if err := r.holds(p, kept); err != nil {
		return err
	}
	total, err := m.check()
	if err != nil {
		return err
	}
	if lines := bytes.Count(text, []byte("\n")); total.Lines != uint64(lines) {
		return fmt.Errorf("check counts %d lines, there are %d", total.Lines, lines)
	}
	if whole := !total.Cut; total.Complete != whole {
		return fmt.Errorf("check calls the copy complete: %t, want %t; %+v", total.Complete, whole, total)
	}
	return nil
}

// holds says what of the text must be in what was kept at a point, and is not.
func (r *recording) holds(p point, kept []byte) error {
	at := bytes.Index(r.text, kept)
	if at < 0 {
		same := 0
		for same < len(kept) && same < len(r.text) && kept[same] == r.text[same] {
			same++
		}
		return fmt.Errorf("what was kept is not what was written: %d bytes, other ones from %d on: %.100q", len(kept), same, kept[same:])
	}
	if len(kept) == 0 {
		at = p.begin
	}
	if at > p.begin {
		return fmt.Errorf("the beginning is lost: what was kept begins at %d, not at %d", at, p.begin)
	}
	if at+len(kept) < p.safe {
		return fmt.Errorf("committed lines are lost: what was kept ends at %d, and %d bytes were committed", at+len(kept), p.safe)
	}
	return nil
}
