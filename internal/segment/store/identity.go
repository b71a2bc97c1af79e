package store

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
)

// links returns how many names an open file has: 0 once it was deleted.
func links(f *os.File) uint64 {
	var st unix.Stat_t
	if err := kernel.Retry(func() error { return unix.Fstat(int(f.Fd()), &st) }); err != nil {
		return 1 // unknown, so do not treat the file as deleted
	}
	return uint64(st.Nlink)
}

// mount identifies the mount to which a directory belongs, by its number, which is zero on
// kernels before 5.8, and by its device.
type mount struct {
	id           uint64
	major, minor uint32
}

// mountOf returns the mount of a path, or of an open directory for an empty path.
func mountOf(dir int, path string) mount {
	var st unix.Statx_t
	if err := unix.Statx(dir, path, unix.AT_EMPTY_PATH|unix.AT_STATX_SYNC_AS_STAT, unix.STATX_MNT_ID, &st); err != nil {
		return mount{}
	}
	m := mount{major: st.Dev_major, minor: st.Dev_minor}
	if st.Mask&unix.STATX_MNT_ID != 0 {
		m.id = st.Mnt_id
	}
	return m
}
