package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
)

func TestUnexpectedComplainsAboutEach(t *testing.T) {
	if bad := Unexpected(nil); len(bad) > 0 {
		t.Errorf("without arguments, the errors are %v, want none", bad)
	}
	want := "unexpected argument \"a b\"\nunexpected argument \"\\x1b\""
	if got := errors.Join(Unexpected([]string{"a b", "\x1b"})...).Error(); got != want {
		t.Errorf("the errors are %s, want %s", got, want)
	}
}

func TestFailHasALineForEachError(t *testing.T) {
	_, missing := os.Stat("no where")
	_, noDir := os.ReadDir("cli.go")
	_, noRoot := os.OpenRoot("cli.go")
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"one":         {errors.New("no room"), "prog run: no room\n"},
		"two lines":   {errors.New("no room\nmake some"), "prog run: no room\nprog run: make some\n"},
		"joined":      {errors.Join(errors.New("one"), errors.Join(errors.New("two"))), "prog run: one\nprog run: two\n"},
		"two in one":  {fmt.Errorf("%w: %w", errors.New("one"), errors.New("two")), "prog run: one: two\n"},
		"no path":     {fmt.Errorf("open it: %w", missing), "prog run: open it: \"no where\" does not exist\n"},
		"no dir":      {fmt.Errorf("list it: %w", noDir), "prog run: list it: cli.go is not a directory\n"},
		"no root":     {noRoot, "prog run: cli.go is not a directory\n"},
		"interrupted": {fmt.Errorf("read: %w", context.Canceled), "prog run: read: interrupted\n"},
		"escape":      {errors.New("\x1b[2Jgone"), "prog run: ?[2Jgone\n"},
	} {
		var stderr bytes.Buffer
		code := Env{Program: "prog", Stderr: &stderr}.Fail("run", c.err)
		if code != Failure || stderr.String() != c.want {
			t.Errorf("%s: exit %d, %q, want %q", name, code, &stderr, c.want)
		}
	}
}
