package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUsageErrors(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "thesis.tex"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"make", "--version", "044b446-dirty", "--out", "x"}, "as in VERSION=0.1.0"},
		{[]string{"make", "--version", "1.0.0+local", "--out", "x"}, "as in VERSION=0.1.0"},
		{[]string{"make", "--version", "1.0.0"}, "--out is missing"},
		{[]string{"make", "--version", "1.0.0", "--out", full}, "not part of a release"},
		{[]string{"push", "--version", "1.0.0"}, "as in REGISTRY=registry.example/team"},
		{[]string{"push", "--version", "1.0.0", "--registry", "registry.example/Team"}, "as in REGISTRY=registry.example/team"},
		{[]string{"push", "--version", "1.0.0", "--registry", "team"}, "as in REGISTRY=registry.example/team"},
		{[]string{"pull"}, "usage"},
		{nil, "usage"},
	} {
		err := run(context.Background(), c.args, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.args, err, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(full, "thesis.tex")); errors.Is(err, os.ErrNotExist) {
		t.Error("the earlier content of the directory is gone, want it kept")
	}
}

// Only files that the checksums of an earlier release list are removed.
func TestOnlyAReleaseIsReplaced(t *testing.T) {
	list := "ullage_1.0.0" + checksumsSuffix
	sums := sum(nil) + "  ullage_1.0.0_image.tar\n" + sum(nil) + "  krew-ullage.yaml\n" + sum(nil) + "  ../elsewhere\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string // in the error; empty: the release is removed
	}{
		{"a release", map[string]string{list: sums, "ullage_1.0.0_image.tar": "", "krew-ullage.yaml": ""}, ""},
		{"a part of one", map[string]string{list: sums, "krew-ullage.yaml": ""}, ""},
		{"a release and another file", map[string]string{list: sums, "krew-ullage.yaml": "", "thesis.tex": ""}, "move thesis.tex elsewhere"},
		{"a release and a directory", map[string]string{list: sums, "thesis/thesis.tex": ""}, "move thesis elsewhere"},
		{"a directory with the name of a file", map[string]string{list: sums, "krew-ullage.yaml/thesis.tex": ""}, "move krew-ullage.yaml elsewhere"},
		{"checksums of something else", map[string]string{"other_1.0.0" + checksumsSuffix: sums, "krew-ullage.yaml": ""}, "not part of a release"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			out := filepath.Join(dir, "dist")
			c.files["../elsewhere"] = ""
			for name, text := range c.files {
				path := filepath.Join(out, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			err := removeEarlier(out)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
			for name := range c.files {
				_, err := os.Stat(filepath.Join(out, name))
				if kept, want := err == nil, c.want != ""; name != "../elsewhere" && kept != want {
					t.Errorf("%s is kept: %t, want %t", name, kept, want)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "elsewhere")); err != nil {
				t.Errorf("a file outside the release is gone: %v, want it kept", err)
			}
		})
	}
}
