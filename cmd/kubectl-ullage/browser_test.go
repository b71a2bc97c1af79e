package main

import (
	"slices"
	"strings"
	"testing"
)

func TestEverySystemHasItsOwnWayToOpenAURL(t *testing.T) {
	const url = "http://127.0.0.1:41234/"
	for _, c := range []struct {
		system, display string
		want            []string
	}{
		{"darwin", "", []string{"open", url}},
		{"windows", "", []string{"rundll32", "url.dll,FileProtocolHandler", url}},
		{"linux", "DISPLAY=:0", []string{"xdg-open", url}},
		{"linux", "WAYLAND_DISPLAY=wayland-0", []string{"xdg-open", url}},
		{"linux", "DISPLAY=", []string{""}},
		{"freebsd", "", []string{""}},
	} {
		lookup := func(name string) (string, bool) {
			variable, value, _ := strings.Cut(c.display, "=")
			return value, variable == name
		}
		name, args := opener(c.system, lookup, url)
		if got := append([]string{name}, args...); !slices.Equal(got, c.want) {
			t.Errorf("%s with %q: %q, want %q", c.system, c.display, got, c.want)
		}
	}
}

func TestURLsOfFilesAreEscaped(t *testing.T) {
	if got, want := fileURL("/tmp/a b#c?.html"), "file:///tmp/a%20b%23c%3F.html"; got != want {
		t.Errorf("the URL is %s, want %s", got, want)
	}
}
