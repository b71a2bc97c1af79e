package handover

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Write writes the regular files of a directory, which nothing writes to any more.
func Write(w io.Writer, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the copy: %w", err)
	}
	defer root.Close()
	archive := tar.NewWriter(w)
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return add(archive, root, name)
	})
	if err == nil {
		err = archive.WriteHeader(&tar.Header{Name: endMark, Typeflag: tar.TypeReg})
	}
	if err := errors.Join(err, archive.Close()); err != nil {
		return fmt.Errorf("write the copy: %w", err)
	}
	return nil
}

func add(archive *tar.Writer, root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o600, Size: info.Size(), ModTime: info.ModTime()}
	if err := archive.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.CopyN(archive, f, h.Size)
	return err
}
