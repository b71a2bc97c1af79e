package cli

import (
	"errors"
	"testing"
)

func TestUnexpectedComplainsAboutEach(t *testing.T) {
	if bad := Unexpected(nil); len(bad) > 0 {
		t.Errorf("about nothing: %v", bad)
	}
	want := "unexpected argument \"a b\"\nunexpected argument \"\\x1b\""
	if got := errors.Join(Unexpected([]string{"a b", "\x1b"})...).Error(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
