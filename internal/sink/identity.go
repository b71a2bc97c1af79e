package sink

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"
)

// identityFile has the name of a destination: random, and as old as its first sink that
// is [Identified]. No sink has such a name.
const identityFile = "_destination"

var validIdentity = regexp.MustCompile(`^[0-9a-f]{24}$`)

// identify gives the sink the name of the destination, if the sink takes one. Without it,
// nothing can be delivered.
func (w *worker) identify(stop context.Context) {
	sink, takes := w.sink.(Identified)
	if !takes {
		return
	}
	for {
		id, err := identity(filepath.Join(w.set.dest, stateDir))
		if err == nil {
			sink.Identify(id)
			w.recovered()
			return
		}
		w.fail(err)
		if w.sleep(stop, w.pauseAfter(err)) != nil {
			return
		}
	}
}

// identity returns the name of the destination with that directory of cursors. The first
// call makes it, and makes it durable before an engine hears it.
func identity(dir string) (string, error) {
	path := filepath.Join(dir, identityFile)
	text, err := readIdentity(path)
	if err == nil && validIdentity.MatchString(text) {
		return text, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the name of the destination: %w", err)
	}
	var random [12]byte
	_, _ = rand.Read(random[:]) // never fails
	text = hex.EncodeToString(random[:])
	if err := errors.Join(os.MkdirAll(dir, 0o750), create(path, text), syncDir(dir)); err != nil {
		return "", fmt.Errorf("save the name of the destination: %w", err)
	}
	return readIdentity(path) // another sink of this process may have been first
}

// create makes a file with that text, which appears whole or not at all. One that is
// there and valid stays.
func create(path, text string) error {
	next, err := os.CreateTemp(filepath.Dir(path), identityFile+".*")
	if err != nil {
		return err
	}
	defer os.Remove(next.Name())
	_, err = next.WriteString(text)
	if err = errors.Join(err, next.Sync(), next.Close()); err != nil {
		return err
	}
	if was, err := readIdentity(path); err == nil && !validIdentity.MatchString(was) {
		return os.Rename(next.Name(), path)
	}
	if err := os.Link(next.Name(), path); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// readIdentity returns what is in the file, at most a little more than a name.
func readIdentity(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var text [64]byte
	n, err := f.Read(text[:])
	if n == 0 && err != nil {
		return "", nil // empty, or no file: not a name
	}
	return string(text[:n]), nil
}
