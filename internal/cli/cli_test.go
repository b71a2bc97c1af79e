package cli

import (
	"errors"
	"testing"
)

func TestLineIsOneLineThatATerminalCanBeShown(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"größer als 1 MiB → aus":         "größer als 1 MiB → aus",
		"one\ntwo\n":                     "one two ",
		"two\tcolumns":                   "two columns",
		"\x1b[2J\r\x00\x7f\u0085\u009b":  "?[2J?????",
		"\u00a0":                         "\u00a0",
		"gc\u202egol.\u2066\u200f\u2028": "gc?gol.???",
		"no UTF-8: \xff":                 "no UTF-8: \ufffd",
	} {
		if got := Line(text); got != want {
			t.Errorf("Line(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestUnexpectedComplainsAboutEach(t *testing.T) {
	if bad := Unexpected(nil); len(bad) > 0 {
		t.Errorf("about nothing: %v", bad)
	}
	want := "unexpected argument \"a b\"\nunexpected argument \"\\x1b\""
	if got := errors.Join(Unexpected([]string{"a b", "\x1b"})...).Error(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
