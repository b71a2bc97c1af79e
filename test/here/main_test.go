package main

import (
	"slices"
	"strings"
	"testing"
)

// Only reasons that begin with "needs" and come from skipped tests are listed: a test that passed may use that word
// too, and a seed of a fuzz target is skipped because of its content.
func TestReasonsOfSkippedTestsAreListed(t *testing.T) {
	const stream = `{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:7: needs root: it mounts a tmpfs\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB/sub","Output":"        fixture.go:9: needs root: it mounts a tmpfs\n"}
{"Action":"skip","Package":"p","Test":"TestB/sub"}
{"Action":"output","Package":"p","Test":"TestC","Output":"    a_test.go:8: needs nothing\n"}
{"Action":"pass","Package":"p","Test":"TestC"}
{"Action":"output","Package":"p","Test":"FuzzD/seed","Output":"    a_test.go:9: longer inputs find nothing else\n"}
{"Action":"skip","Package":"p","Test":"FuzzD/seed"}
{"Action":"output","Package":"q","Output":"needs a JDK\n"}
{"Action":"output","Package":"q","Output":"ok  \tq\t0.1s\n"}
{"Action":"pass","Package":"q"}
`
	var out strings.Builder
	skipped, err := follow(strings.NewReader(stream), &out)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`unit: 1 skipped: needs a JDK: make setup unit`,
		`unit: 2 skipped: needs root: it mounts a tmpfs: sudo -E env "PATH=$PATH" make unit`,
	}
	if got := summary("unit", skipped); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if want := "needs a JDK\nok  \tq\t0.1s\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

// Three things are printed: the output of a failed test, the output of a test that ran when the process died, and
// compile errors.
func TestFailuresArePrinted(t *testing.T) {
	const stream = `{"ImportPath":"p","Action":"build-output","Output":"a.go:1: no\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- FAIL: TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:7: needs less\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"fatal error: concurrent map writes\n"}
{"Action":"output","Package":"q","Test":"TestC","Output":"still running\n"}
{"Action":"fail","Package":"p"}
`
	var out strings.Builder
	skipped, err := follow(strings.NewReader(stream), &out)
	if err != nil || len(skipped) != 0 {
		t.Fatalf("skipped are %v, error %v; want none and no error", skipped, err)
	}
	if want := "a.go:1: no\n--- FAIL: TestA\n    a_test.go:7: needs less\nfatal error: concurrent map writes\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}
