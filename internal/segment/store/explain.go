package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// explain adds three things to an error of a destination: the user that this process runs as,
// the mode and the owner of the directory, and what an operator can do.
func explain(dir, verb string, err error) error {
	who := fmt.Sprintf("ullage runs as uid %d, gid %d", os.Geteuid(), os.Getegid())
	what, hint := "", ""
	var named *fs.PathError
	if errors.As(err, &named) && named.Path == dir {
		err = named.Err // the text below names the path
	}
	if info, statErr := os.Stat(dir); statErr == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			what = fmt.Sprintf("; the directory has mode %s, uid %d, gid %d", info.Mode(), st.Uid, st.Gid)
		}
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		hint = ": let this uid or gid write there (chown the volume, or set fsGroup in the pod's securityContext)"
	case errors.Is(err, syscall.EROFS):
		hint = ": mount the volume read-write, and let --dest be a directory on it rather than in the container's image"
	case errors.Is(err, syscall.ENOTDIR):
		hint = ": name a directory in --dest"
	case noSpace(err):
		hint = ": make space on the volume"
	}
	return fmt.Errorf("%s destination %s: %w (%s%s)%s", verb, dir, err, who, what, hint)
}

// noSpace reports whether an error means that a volume or a quota is full.
func noSpace(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}
