package ship

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/segment/store"
)

// errorKind returns the class of an error of the destination, for a metric label.
func errorKind(err error) string {
	if errors.Is(err, store.ErrAway) {
		return missingError
	}
	return errorKinds.of(err)
}

const (
	fullError    = "full"
	missingError = "missing"
	otherError   = "other"
)

// labels maps errors to the values of a metric's label.
type labels []struct {
	label  string
	errnos []unix.Errno
}

// of returns the label of an error.
func (l labels) of(err error) string {
	for _, k := range l {
		for _, errno := range k.errnos {
			if errors.Is(err, errno) {
				return k.label
			}
		}
	}
	return otherError
}

var errorKinds = labels{
	{fullError, []unix.Errno{unix.ENOSPC, unix.EDQUOT}},
	{"read_only", []unix.Errno{unix.EROFS}},
	{"io", []unix.Errno{unix.EIO, unix.ENXIO, unix.ENODEV, unix.ESTALE}},
	{"permission", []unix.Errno{unix.EACCES, unix.EPERM}},
	{missingError, []unix.Errno{unix.ENOENT, unix.ENOTDIR}},
}

// refusedReasons are the reasons why a stream is refused, in ullage_refused_streams.
var refusedReasons = labels{
	{"occupied", []unix.Errno{unix.ENOTDIR, unix.EISDIR, unix.ELOOP}},
	{"permission", []unix.Errno{unix.EACCES, unix.EPERM}},
	{"name", []unix.Errno{unix.EINVAL, unix.EILSEQ, unix.ENAMETOOLONG}},
}
