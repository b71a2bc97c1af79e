package main

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An image records what it was built from, whichever way it was built. The tests of
// internal/base/build check that the linker knows these variables.
func TestBothBuildsStampTheSame(t *testing.T) {
	want := []string{
		"github.com/ullage/ullage/internal/base/build.committed=$SOURCE_DATE_EPOCH",
		"github.com/ullage/ullage/internal/base/build.revision=$REVISION",
		"main.version=$VERSION",
	}
	lower := regexp.MustCompile(`\$(version|revision)\b`)
	for _, file := range []string{"build.sh", "../../Dockerfile"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range regexp.MustCompile(`-X ([^\s"]+)`).FindAllSubmatch(text, -1) {
			got = append(got, lower.ReplaceAllStringFunc(string(m[1]), func(name string) string {
				return map[string]string{"$version": "$VERSION", "$revision": "$REVISION"}[name]
			}))
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}
