package ship

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/segment/store"
)

// errorKind is the class of an error of the destination, for a metric label.
func errorKind(err error) string {
	if errors.Is(err, store.ErrAway) {
		return missingError
	}
	for _, k := range errorKinds {
		for _, errno := range k.errnos {
			if errors.Is(err, errno) {
				return k.kind
			}
		}
	}
	return otherError
}

const (
	fullError    = "full"
	missingError = "missing"
	otherError   = "other"
)

var errorKinds = []struct {
	kind   string
	errnos []unix.Errno
}{
	{fullError, []unix.Errno{unix.ENOSPC, unix.EDQUOT}},
	{"read_only", []unix.Errno{unix.EROFS}},
	{"io", []unix.Errno{unix.EIO, unix.ENXIO, unix.ENODEV, unix.ESTALE}},
	{"permission", []unix.Errno{unix.EACCES, unix.EPERM}},
	{missingError, []unix.Errno{unix.ENOENT, unix.ENOTDIR}},
}

// refusedReasons are the label values of ullage_refused_streams.
var refusedReasons = []struct {
	reason string
	errnos []unix.Errno
}{
	{"occupied", []unix.Errno{unix.ENOTDIR, unix.EISDIR, unix.ELOOP}},
	{"permission", []unix.Errno{unix.EACCES, unix.EPERM}},
	{"name", []unix.Errno{unix.EINVAL, unix.EILSEQ, unix.ENAMETOOLONG}},
}

// refusedReason is why the destination refuses a stream, for a metric label.
func refusedReason(err error) string {
	for _, k := range refusedReasons {
		for _, errno := range k.errnos {
			if errors.Is(err, errno) {
				return k.reason
			}
		}
	}
	return otherError
}
