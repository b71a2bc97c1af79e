package ask

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ullage/ullage/internal/base/printable"
)

// maxStream bounds a pattern of streams, in bytes: no name of a stream is longer.
const maxStream = 200

// ParseStream returns a valid pattern of streams, or an error that says how to write one. A pattern
// has the form that `ullage logs --stream` accepts: the name of a stream, or a glob.
func ParseStream(pattern string) (string, error) {
	const usage = "write the name of a stream, like gc.log, or a glob, like gc*.log"
	if pattern == "" || len(pattern) > maxStream {
		return "", fmt.Errorf("a stream of %d bytes: %s, of at most %d bytes", len(pattern), usage, maxStream)
	}
	_, err := path.Match(pattern, "")
	if err != nil || strings.HasPrefix(pattern, ".") || !utf8.ValidString(pattern) ||
		strings.ContainsFunc(pattern, func(r rune) bool { return r == '/' || !unicode.IsPrint(r) }) {
		return "", fmt.Errorf("%q matches no stream: %s", printable.Escaped(pattern, maxValue), usage)
	}
	return pattern, nil
}
