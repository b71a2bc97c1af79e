package sink

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"regexp"

	"golang.org/x/sys/unix"
)

// identityFile holds the name of a destination. The name is random and is chosen for the first
// sink that is [Identified]. No sink can have the name of this file.
const identityFile = "_destination"

var validIdentity = regexp.MustCompile(`^[0-9a-f]{24}$`)

// identify gives the name of the destination to a sink that takes one. Such a sink cannot deliver
// anything before that.
func (w *worker) identify(ctx, stop context.Context) {
	sink, takes := w.sink.(Identified)
	if !takes {
		return
	}
	for {
		id, err := identity(files{w.set.dest})
		if err == nil {
			sink.Identify(id)
			w.recovered()
			return
		}
		w.fail(err)
		if pause(ctx, stop, w.backoff.after(err)) != nil {
			return
		}
	}
}

// identity returns the name of the destination. The first call chooses the name. The name is
// durable before an engine gets it.
func identity(state files) (string, error) {
	text, err := readIdentity(state)
	if err == nil && validIdentity.MatchString(text) {
		return text, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the name of the destination: %w", err)
	}
	var random [12]byte
	_, _ = rand.Read(random[:]) // never fails
	if err := create(state, hex.EncodeToString(random[:])); err != nil {
		return "", fmt.Errorf("save the name of the destination: %w", err)
	}
	return readIdentity(state) // another sink of this process may have been first
}

// create creates a durable file with this text. The file appears completely or not at all. A
// valid existing file is kept.
func create(state files, text string) error {
	dir, err := state.dir(true)
	if err != nil {
		return err
	}
	defer dir.Close()
	at, next := int(dir.Fd()), identityFile+"."+text
	if err := state.write(dir, next, []byte(text)); err != nil {
		return err
	}
	defer func() { _ = unix.Unlinkat(at, next, 0) }() // by now, it is renamed or no longer needed
	if was, e := readIdentity(state); e == nil && !validIdentity.MatchString(was) {
		err = unix.Renameat(at, next, at, identityFile)
	} else if err = unix.Linkat(at, next, at, identityFile, 0); err == unix.EEXIST {
		err = nil
	}
	return errors.Join(err, dir.Sync())
}

// readIdentity returns the beginning of the file, which may be longer than a name.
func readIdentity(state files) (string, error) {
	f, err := state.read(identityFile)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var text [64]byte
	n, err := f.Read(text[:])
	if n == 0 && err != nil {
		return "", nil // an empty file holds no name
	}
	return string(text[:n]), nil
}
