package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// fileCopy describes one layer.
type fileCopy struct {
	source      string // a file or directory; {arch} stands for the architecture
	destination string // absolute and clean; for a directory, the destination of its contents
}

// parseCopy parses SOURCE=DESTINATION. It splits at the last "=", because only a source may
// have an "=" in its name.
func parseCopy(s string) (fileCopy, error) {
	i := strings.LastIndexByte(s, '=')
	if i <= 0 {
		return fileCopy{}, fmt.Errorf("%q is not of the form SOURCE=DESTINATION", s)
	}
	c := fileCopy{s[:i], s[i+1:]}
	if !path.IsAbs(c.destination) || path.Clean(c.destination) != c.destination {
		return fileCopy{}, fmt.Errorf("%q: the destination has to be an absolute, clean path", s)
	}
	return c, nil
}

// blob is content whose name in the archive is its digest.
type blob struct {
	path   string // of a temporary file; empty if data is used
	data   []byte
	digest string
	size   int64
}

func dataBlob(data []byte) blob {
	sum := sha256.Sum256(data)
	return blob{data: data, digest: "sha256:" + hex.EncodeToString(sum[:]), size: int64(len(data))}
}

// layer is a blob with a file system change set, which is a tar stream.
type layer struct {
	blob
	diffID       string // digest of the tar stream before compression
	uncompressed int64
}

// meter counts and hashes the bytes that are written through it.
type meter struct {
	w    io.Writer
	hash hash.Hash
	n    int64
}

func newMeter(w io.Writer) *meter { return &meter{w: w, hash: sha256.New()} }

func (m *meter) Write(p []byte) (int, error) {
	n, err := m.w.Write(p)
	m.hash.Write(p[:n])
	m.n += int64(n)
	return n, err
}

func (m *meter) digest() string { return "sha256:" + hex.EncodeToString(m.hash.Sum(nil)) }

// build writes the layer into a temporary file of dir.
func (c fileCopy) build(dir, arch string, created time.Time, compress bool) (l layer, err error) {
	f, err := os.CreateTemp(dir, "layer-*")
	if err != nil {
		return layer{}, fmt.Errorf("make a layer: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	outer := newMeter(f)
	var sink io.WriteCloser = nopCloser{outer}
	if compress {
		// The level is valid, so there can be no error.
		sink, _ = gzip.NewWriterLevel(outer, gzip.BestCompression)
	}
	inner := newMeter(sink)
	archive := tar.NewWriter(inner)
	c.source = strings.ReplaceAll(c.source, "{arch}", arch)
	if err := errors.Join(c.write(archive, created), archive.Close(), sink.Close()); err != nil {
		return layer{}, fmt.Errorf("make a layer of %s: %w", c.source, err)
	}
	return layer{blob{path: f.Name(), digest: outer.digest(), size: outer.n}, inner.digest(), inner.n}, nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// write adds the directories above the destination and everything in the source.
func (c fileCopy) write(archive *tar.Writer, created time.Time) error {
	for i := 1; i < len(c.destination); i++ {
		if c.destination[i] == '/' {
			if err := writeEntry(archive, &tar.Header{Name: c.destination[1:i] + "/", Mode: 0o755, Typeflag: tar.TypeDir}, created); err != nil {
				return err
			}
		}
	}
	return filepath.WalkDir(c.source, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(c.source, file)
		if err != nil {
			return err
		}
		name := path.Join(c.destination, filepath.ToSlash(rel))[1:]
		if name == "" {
			return nil // the root itself
		}
		return copyEntry(archive, file, name, d, created)
	})
}

// copyEntry adds one file, directory or symbolic link.
func copyEntry(archive *tar.Writer, file, name string, d fs.DirEntry, created time.Time) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	link := ""
	if info.Mode().Type() == fs.ModeSymlink {
		if link, err = os.Readlink(file); err != nil {
			return err
		}
	} else if !info.IsDir() && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is neither a file nor a directory nor a symbolic link", file)
	}
	header, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	header.Name = name
	if info.IsDir() {
		header.Name += "/"
	}
	if err := writeEntry(archive, header, created); err != nil || !info.Mode().IsRegular() {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(archive, f)
	return err
}

// writeEntry adds a header without the values that differ between machines: the owner, and
// the permissions that depend on the umask.
func writeEntry(archive *tar.Writer, h *tar.Header, created time.Time) error {
	h.Uid, h.Gid, h.Uname, h.Gname = 0, 0, "", ""
	h.ModTime, h.AccessTime, h.ChangeTime = created, time.Time{}, time.Time{}
	h.Format = tar.FormatPAX
	switch {
	case h.Typeflag == tar.TypeSymlink:
		h.Mode = 0o777
	case h.Typeflag == tar.TypeDir && h.Mode&0o1000 != 0: // a directory like /tmp
		h.Mode = 0o1777
	case h.Typeflag == tar.TypeDir || h.Mode&0o100 != 0:
		h.Mode = 0o755
	default:
		h.Mode = 0o644
	}
	return archive.WriteHeader(h)
}
