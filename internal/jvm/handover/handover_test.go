package handover

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestACopyArrivesWhole(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"gc-1.log/00001.zst": "first", "gc-1.log/00002.zst": "", ".ullage/checkpoint": "state"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(from, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(from, "link")); err != nil {
		t.Fatal(err)
	}
	var sent bytes.Buffer
	if err := Write(&sent, from); err != nil {
		t.Fatal(err)
	}
	if err := Read(bytes.NewReader(sent.Bytes()), to); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(to, "gc-1.log/00001.zst")); string(text) != "first" {
		t.Errorf("%q, %v", text, err)
	}
	if got, err := os.ReadDir(to); err != nil || len(got) != 2 {
		t.Errorf("in the directory: %v, %v", got, err)
	}

	// A connection that breaks anywhere, also between two files.
	end := bytes.LastIndex(sent.Bytes(), []byte(endMark))
	for n := 0; n <= end; n += 256 {
		if err := Read(bytes.NewReader(sent.Bytes()[:n]), t.TempDir()); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("after %d of %d bytes: %v", n, end, err)
		}
	}
}

func TestAHostileCopyIsRefused(t *testing.T) {
	file := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg} }
	for name, entries := range map[string][]tar.Header{
		"above":              {file("../x")},
		"above, later":       {file("a/../../x")},
		"absolute":           {file("/tmp/x")},
		"link":               {{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "/tmp"}, file("a/x")},
		"hard link":          {{Name: "a", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}},
		"device":             {{Name: "a", Typeflag: tar.TypeChar}},
		"directory":          {{Name: "a/", Typeflag: tar.TypeDir}},
		"escape":             {file("a\x1b[2J")},
		"drive":              {file("C:x")},
		"other separator":    {file(`..\x`)},
		"an option":          {file("--checkpoint-action")},
		"dot":                {file(".")},
		"empty":              {file("")},
		"name without end":   {file(strings.Repeat("a", maxName+1))},
		"twice":              {file("a"), file("a")},
		"a file and under":   {file("a"), file("a/b")},
		"more than it holds": {{Name: "a", Typeflag: tar.TypeReg, Size: maxBytes + 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var sent bytes.Buffer
			archive := tar.NewWriter(&sent)
			for _, h := range append(entries, file(endMark)) {
				if err := archive.WriteHeader(&h); err != nil {
					break // the content of an entry that is too large is missing
				}
			}
			parent := t.TempDir()
			dir := filepath.Join(parent, "copy")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := Read(&sent, dir); err == nil {
				t.Error("it was taken")
			}
			if got, err := os.ReadDir(parent); err != nil || len(got) != 1 {
				t.Errorf("next to the directory: %v, %v", got, err)
			}
		})
	}
}

func TestACopyHasABoundOfFiles(t *testing.T) {
	var sent bytes.Buffer
	archive := tar.NewWriter(&sent)
	for n := range maxFiles + 2 {
		if err := archive.WriteHeader(&tar.Header{Name: fmt.Sprint(n), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
	}
	if err := Read(&sent, t.TempDir()); !errors.Is(err, ErrRefused) {
		t.Errorf("got %v, want a refusal", err)
	}
}
