package format

import "fmt"

// Format is the format of a program's log. The zero value is Auto.
type Format uint8

// The formats. Auto accepts the headers of all formats except Plain, in which no line has a
// level.
const (
	Auto Format = iota
	UL
	Pattern
	JUL
	JSON
	Plain
	JDK8
)

var names = [...]string{"auto", "ul", "pattern", "jul", "json", "plain", "jdk8"}

// Names are the names of all formats, for help texts.
const Names = "auto, ul, pattern, jul, json, jdk8 or plain"

// String returns the format's name in lower case.
func (f Format) String() string {
	if int(f) < len(names) {
		return names[f]
	}
	return "unknown"
}

// Parse returns the format of a name.
func Parse(name string) (Format, error) {
	for f, n := range names {
		if n == name {
			return Format(f), nil
		}
	}
	return Auto, fmt.Errorf("%q is not a format (use %s)", name, Names)
}
