package store

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	keyName  = "key"
	keyBytes = 32
)

// readKey reads the key file, up to one byte more than a key has.
func readKey(own string) ([]byte, error) {
	file, err := os.OpenFile(filepath.Join(own, keyName), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, keyBytes+1))
}

// loadKey reads the key. If there is none, it writes the key of the former destination or,
// without one, a random key. It writes and syncs key.new, renames it to key, and syncs the
// directory, so a crash leaves the former state or a whole key. A key of the wrong length is
// replaced, which only makes a checkpoint invalid.
func loadKey(own string, former []byte, log *slog.Logger) ([]byte, error) {
	path := filepath.Join(own, keyName)
	key, err := readKey(own)
	switch {
	case err == nil && len(key) == keyBytes:
		return key, nil
	case err == nil:
		// messages.md#the-destination: Another process changed the key of the destination.
		// Checkpoints made with the old key are rejected at the next start.
		log.Warn("replacing a damaged key", "path", path, "bytes", len(key), "hint", "checkpoints made with the old key are rejected")
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if key = former; key == nil {
		key = make([]byte, keyBytes)
		if _, err := rand.Read(key); err != nil {
			return nil, err
		}
	}
	next := path + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := writeNew(next, key, 0o600); err != nil {
		return nil, err
	}
	if err := os.Rename(next, path); err != nil {
		return nil, err
	}
	return key, syncDir(own)
}
