package build

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStampsOfTheGoCommand(t *testing.T) {
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	for name, tc := range map[string]struct {
		version  string
		settings []debug.BuildSetting
		want     Info
	}{
		"clean":      {"v1", []debug.BuildSetting{setting("vcs.revision", "abc"), setting("vcs.time", "2026-11-20T16:45:11Z"), setting("vcs.modified", "false")}, Info{Version: "v1", Revision: "abc", Date: "2026-11-20T16:45:11Z"}},
		"dirty":      {"", []debug.BuildSetting{setting("vcs.modified", "true"), setting("vcs.revision", "abc")}, Info{Version: "v0.9", Revision: "abc-dirty"}},
		"not in git": {"v1", []debug.BuildSetting{setting("vcs.modified", "true")}, Info{Version: "v1"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Info{Version: tc.version}
			got.read(&debug.BuildInfo{Main: debug.Module{Version: "v0.9"}, Settings: tc.settings})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The linker ignores a variable that does not exist, so the test links a program that prints what was set.
func TestStampsOfTheLinker(t *testing.T) {
	for name, tc := range map[string]struct{ ldflags, revision, date string }{
		"told":          {"-X github.com/ullage/ullage/internal/base/build.revision=abc -X github.com/ullage/ullage/internal/base/build.committed=1795193111", "abc", "2026-11-20T16:45:11Z"},
		"not in git":    {"-X github.com/ullage/ullage/internal/base/build.revision= -X github.com/ullage/ullage/internal/base/build.committed=0", "", ""},
		"no date given": {"-X github.com/ullage/ullage/internal/base/build.revision=abc -X github.com/ullage/ullage/internal/base/build.committed=", "abc", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := Info{Version: "v1", Revision: tc.revision, Date: tc.date, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
			if diff := cmp.Diff(want, linked(t, tc.ldflags+" -X main.version=v1")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// linked builds a program and returns the build that it reports.
func linked(t *testing.T, ldflags string) Info {
	t.Helper()
	program := filepath.Join(t.TempDir(), "stamped")
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags", ldflags, "-o", program, "./testdata/stamped")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		t.Fatalf("go build: %v", err)
	}
	out, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	var got Info
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("the program printed %q, want the JSON of an Info: %v", out, err)
	}
	return got
}
