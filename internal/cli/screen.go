package cli

import (
	"fmt"
	"io"
	"os"
	"unicode"
	"unicode/utf8"
)

// Screen shows bytes that another program chose on a terminal: what a terminal
// would obey is written as an escape, like \x1b or \u202e. Line ends and tabs
// stay. The bytes of a character may come in several calls of Write, so Flush
// comes last.
type Screen struct {
	w    io.Writer
	rest []byte // of a character, or a carriage return
	text []byte
}

// NewScreen returns the screen that w is, or nil if w is not a terminal: then
// every byte may be meant for a program, and is to stay as it is.
func NewScreen(w io.Writer) *Screen {
	file, ok := w.(*os.File)
	if !ok {
		return nil
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	// The other character device that output often goes to.
	if null, err := os.Stat(os.DevNull); err == nil && os.SameFile(info, null) {
		return nil
	}
	return &Screen{w: w}
}

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

// Flush shows what may have been the beginning of a character.
func (s *Screen) Flush() error {
	s.text = s.text[:0]
	for data := s.rest; len(data) > 0; {
		data = data[s.show(data):]
	}
	s.rest = nil
	_, err := s.w.Write(s.text)
	return err
}

// show appends the first character of data to the text, and returns its length.
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

// obeyed reports whether a terminal may do something at r rather than show it:
// control characters, and those that turn the direction of text or hide in it.
func obeyed(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }
