package ring

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files of the Go side")

// The golden ring was written by a test of the Java side; golden.txt lists its records.
func TestGoldenRingOfTheJavaSide(t *testing.T) {
	ring, err := os.ReadFile("testdata/golden.ring")
	if err != nil {
		t.Fatal(err)
	}
	source := t.TempDir()
	if err := os.WriteFile(filepath.Join(source, testName.ring()), ring, 0o600); err != nil {
		t.Fatal(err)
	}
	raise := raised{levels: parsed(t, "com.acme=trace,debug,org.hibernate.SQL=info"), whole: true, generation: 1}
	if got := parseRaised(ring); got != raise {
		t.Errorf("the golden ring is raised to %+v, want %+v", got, raise)
	}
	s := newSidecar(t, source).start()
	s.drained()
	got, err := os.ReadFile(filepath.Join(source, testName.text()))
	if err != nil {
		t.Fatal(err)
	}
	shown := strings.ReplaceAll(string(got), strings.Repeat("x", 32<<10), "(32 KiB of x)")
	const golden = "testdata/golden.log"
	if *update {
		if err := os.WriteFile(golden, []byte(shown), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), shown); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	// One claim was never completed. The ring was in use before and has no journal.
	if got, want := s.errorsBy(), "claim=1 journal=1"; got != want {
		t.Errorf("the errors are %s, want %s", got, want)
	}
	if got, want := names(t, source), testName.text(); got != want {
		t.Errorf("the files %s are left, want %s", got, want)
	}
}
