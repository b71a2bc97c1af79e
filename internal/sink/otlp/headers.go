package otlp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// header is a name and its value.
type header struct{ name, value string }

// headerBytes bounds a file of headers.
const headerBytes = 64 << 10

// headers are the headers of each request, such as credentials. They are read from a file or
// are fixed. The zero value has no headers.
type headers struct {
	path  string
	fixed []header
}

// headersOf reads a file with a header on each line: "Name: value". Without a path, the headers are
// the fixed headers from the environment. A file that does not exist is no error, because the Secret
// that holds it may be created later: deliveries fail until then.
func headersOf(path string, fixed []header) (headers, error) {
	h := headers{path: path, fixed: fixed}
	if _, err := h.read(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return h, err
	}
	return h, nil
}

// read returns the headers. It reads the file each time, so that a renewed token needs no
// restart. Its errors do not show values.
func (h headers) read() ([]header, error) {
	found := h.fixed
	if h.path != "" {
		f, err := os.Open(h.path)
		if err != nil {
			return nil, fmt.Errorf("option headers: %w", err)
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, headerBytes))
		if err != nil {
			return nil, fmt.Errorf("option headers: %w", err)
		}
		if found, err = parseHeaders(text); err != nil {
			return nil, fmt.Errorf("option headers: %s: %w", h.path, err)
		}
	}
	for i, a := range found {
		if !httpguts.ValidHeaderFieldName(a.name) || !httpguts.ValidHeaderFieldValue(a.value) {
			return nil, fmt.Errorf("header %d is not one that HTTP allows", i+1)
		}
	}
	return found, nil
}

// parseHeaders reads "Name: value" lines; empty lines are allowed.
func parseHeaders(text []byte) (found []header, err error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, headerBytes+1)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("line %d is not \"Name: value\"", n)
		}
		found = append(found, header{strings.TrimSpace(name), strings.TrimSpace(value)})
	}
	return found, lines.Err()
}
