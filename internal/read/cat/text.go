package cat

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode"
)

// quoted formats a name for a message. It quotes a name that could be mistaken
// for something else.
func quoted(name string) string {
	odd := func(r rune) bool {
		return !unicode.IsPrint(r) || strings.ContainsRune(` "'\`, r) || r == unicode.ReplacementChar
	}
	if name == "" || strings.ContainsFunc(name, odd) {
		return strconv.Quote(name)
	}
	return name
}

// readError names a path once in an error about it.
func readError(path string, err error) error {
	return fmt.Errorf("%s cannot be read: %w", quoted(path), reason(err))
}

// reason returns the cause of an error without the path.
func reason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
