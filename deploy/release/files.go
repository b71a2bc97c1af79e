package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// file is one file of a release.
type file struct {
	name   string
	sha256 string // in hexadecimal digits
}

const checksumsSuffix = "_checksums.txt"

// add writes a file of the release.
func (r *release) add(name string, data []byte) error {
	if err := os.WriteFile(filepath.Join(r.out, name), data, 0o644); err != nil {
		return fmt.Errorf("write the release: %w", err)
	}
	r.files = append(r.files, file{name, sum(data)})
	return nil
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// checksums writes the checksums of all files in the format of sha256sum.
func (r *release) checksums() error {
	var b strings.Builder
	for _, f := range slices.SortedFunc(slices.Values(r.files), func(a, b file) int { return cmp.Compare(a.name, b.name) }) {
		fmt.Fprintf(&b, "%s  %s\n", f.sha256, f.name)
	}
	return r.add("ullage_"+r.version+checksumsSuffix, []byte(b.String()))
}

// binary returns the path of a program's binary.
func (r *release) binary(program string, p platform) string {
	return filepath.Join(r.built, p.directory(), program+p.suffix())
}

func (p platform) suffix() string {
	if p.os == "windows" {
		return ".exe"
	}
	return ""
}

// archiveName returns the name of a program's archive.
func (r *release) archiveName(program string, p platform) string {
	name := fmt.Sprintf("%s_%s_%s_%s", program, r.version, p.os, p.arch)
	if p.os == "windows" {
		return name + ".zip"
	}
	return name + ".tar.gz"
}

// archive writes the archive of a program for a platform.
func (r *release) archive(program string, p platform) error {
	data, err := os.ReadFile(r.binary(program, p))
	if err != nil {
		return fmt.Errorf("read the program: %w", err)
	}
	entries := []entry{{program + p.suffix(), 0o755, data}}
	for _, name := range []string{"LICENSE", "README.md"} {
		if data, err = r.read(name); err != nil {
			return err
		}
		entries = append(entries, entry{name, 0o644, data})
	}
	if program == plugin && p.os != "windows" { // a shell script, which kubectl looks for on the PATH
		script := "kubectl_complete-ullage"
		if data, err = r.read("cmd/" + plugin + "/" + script); err != nil {
			return err
		}
		entries = append(entries, entry{script, 0o755, data})
	}
	packed := tarball
	if p.os == "windows" {
		packed = zipped
	}
	if data, err = packed(entries, r.date); err != nil {
		return fmt.Errorf("pack %s: %w", program, err)
	}
	return r.add(r.archiveName(program, p), data)
}

// entry is a file in an archive.
type entry struct {
	name string
	mode int64
	data []byte
}

// tarball packs the entries in the given order. All have the same time and are owned by
// root.
func tarball(entries []entry, date time.Time) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: tar.TypeReg, Mode: e.mode, Size: int64(len(e.data)), ModTime: date, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// zipped does the same as tarball, in the format for Windows.
func zipped(entries []entry, date time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: date}
		h.SetMode(os.FileMode(e.mode))
		f, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(e.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
