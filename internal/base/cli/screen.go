package cli

import (
	"fmt"
	"io"
	"os"
	"unicode"
	"unicode/utf8"
)

// Screen shows bytes from another program on a terminal. It replaces every
// character that a terminal would interpret with an escape such as \x1b or
// \u202e, except line ends and tabs. Write may receive the bytes of a character
// in several calls; call Flush at the end.
type Screen struct {
	w    io.Writer
	rest []byte // the beginning of a character, or a carriage return
	text []byte
}

// NewScreen returns a Screen that writes to w, or nil if w is not a terminal: then a program
// may read the output, and the bytes must stay unchanged.
func NewScreen(w io.Writer) *Screen {
	file, ok := w.(*os.File)
	if !ok {
		return nil
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	// /dev/null is also a character device, and output often goes there.
	if null, err := os.Stat(os.DevNull); err == nil && os.SameFile(info, null) {
		return nil
	}
	return Escaping(w)
}

// Escaping returns a Screen that writes to w, even if w is not a terminal.
func Escaping(w io.Writer) *Screen { return &Screen{w: w} }

// Via makes s write to w, which writes to the terminal. After a Flush, a program can
// write its own escapes to w.
func (s *Screen) Via(w io.Writer) { s.w = w }

// Write shows p. It returns the error of the terminal.
func (s *Screen) Write(p []byte) (int, error) {
	data := append(s.rest, p...)
	s.text = s.text[:0]
	for len(data) > 0 && utf8.FullRune(data) && (data[0] != '\r' || len(data) > 1) {
		data = data[s.show(data):]
	}
	s.rest = append([]byte(nil), data...)
	if _, err := s.w.Write(s.text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes bytes that could have been the beginning of a character.
func (s *Screen) Flush() error {
	s.text = s.text[:0]
	for data := s.rest; len(data) > 0; {
		data = data[s.show(data):]
	}
	s.rest = nil
	_, err := s.w.Write(s.text)
	return err
}

// show appends the first character of data to the text and returns its length.
func (s *Screen) show(data []byte) int {
	r, size := utf8.DecodeRune(data)
	switch {
	case r == '\n' || r == '\t' || r == '\r' && len(data) > 1 && data[1] == '\n':
		s.text = append(s.text, data[0])
	case r == utf8.RuneError && size == 1 || obeyed(r) && r < utf8.RuneSelf:
		s.text = fmt.Appendf(s.text, `\x%02x`, data[0])
	case obeyed(r):
		s.text = fmt.Appendf(s.text, `\u%04x`, r)
	default:
		s.text = append(s.text, data[:size]...)
	}
	return size
}

// obeyed reports whether a terminal may interpret r instead of showing it:
// control characters, and characters that are invisible or change the direction
// of text.
func obeyed(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }
