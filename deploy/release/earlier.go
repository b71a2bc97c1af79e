package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// earlier returns the files of the release in out, with its checksums last. It returns an
// error if out has any other file: a release consists only of the files that are listed in
// its checksums.
func earlier(out string) ([]string, error) {
	if out == "" {
		return nil, errors.New("--out is missing: name the directory to write")
	}
	entries, err := os.ReadDir(out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("look for an earlier release: %w", err)
	}
	listed, err := listedIn(out, entries)
	if err != nil {
		return nil, err
	}
	var files, sums []string
	for _, e := range entries {
		path := filepath.Join(out, e.Name())
		switch {
		case !e.Type().IsRegular() || !listed[e.Name()]:
			return nil, fmt.Errorf("%s contains something that is not part of a release: move %s elsewhere, or name another directory", out, e.Name())
		case isChecksums(e.Name()):
			sums = append(sums, path)
		default:
			files = append(files, path)
		}
	}
	return append(files, sums...), nil
}

func isChecksums(name string) bool {
	return strings.HasPrefix(name, "ullage_") && strings.HasSuffix(name, checksumsSuffix)
}

// listedIn returns the names of the checksum files in out and the names of the files that
// are listed in them.
func listedIn(out string, entries []fs.DirEntry) (map[string]bool, error) {
	listed := map[string]bool{}
	for _, e := range entries {
		if !isChecksums(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(out, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read what an earlier release has: %w", err)
		}
		listed[e.Name()] = true
		for line := range strings.Lines(string(text)) {
			if _, name, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
				listed[name] = true
			}
		}
	}
	return listed, nil
}

// removeEarlier removes the release in out, and then out itself. The checksums are removed
// last, so that the next release can continue an interrupted removal.
func removeEarlier(out string) error {
	files, err := earlier(out)
	if err != nil {
		return err
	}
	for _, path := range append(files, out) {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove the earlier release: %w", err)
		}
	}
	return nil
}
