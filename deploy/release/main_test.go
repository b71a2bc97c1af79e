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
		{[]string{"make", "--version", "1.0.0", "--out", full}, "something else in it than a release"},
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
		t.Error("what was in the directory is gone")
	}
}
