package repo

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the dark diagrams and the generated tables of pages instead of comparing them")

// dark maps each colour of a light diagram to that of its dark form.
var dark = strings.NewReplacer(
	"#1f2328", "#e6edf3", "#59636e", "#9198a1", "#ffffff", "#0d1117", // text, quiet text, background
	"#f6f8fa", "#151b23", "#8c959f", "#656c76", // a box
	"#ddf4ff", "#0c2d48", "#0969da", "#58a6ff", // ours
	"#fff8c5", "#2e2a1f", "#9a6700", "#d29922", // a warning
	"#ffebe9", "#3c1618", "#cf222e", "#ff7b72", // a loss
)

// A diagram is drawn once, by hand, for a light page. Its dark form differs only in the colours.
func TestDarkDiagramsAreTheLightOnes(t *testing.T) {
	light, err := filepath.Glob("../../docs/pictures/*-light.svg")
	if err != nil || len(light) == 0 {
		t.Fatalf("there are no diagrams: %v", err)
	}
	for _, path := range light {
		text := read(t, path)
		for d := xml.NewDecoder(bytes.NewBufferString(text)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s is not well-formed: %v", path, err)
			}
		}
		want, other := dark.Replace(text), strings.TrimSuffix(path, "-light.svg")+"-dark.svg"
		if *update {
			if err := os.WriteFile(other, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if read(t, other) != want {
			t.Errorf("%s is not the dark form of %s: go test ./test/repo -run Diagrams -update writes it", other, path)
		}
	}
}
