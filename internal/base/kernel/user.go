package kernel

import (
	"fmt"
	"os"
)

// User is the user of another process, according to a file that the process has created.
type User struct {
	UID, GID uint32

	// GroupHidden means that GID may not be the group of the process: in a directory with the
	// setgid bit, as the kubelet creates for fsGroup, all files get the directory's group.
	GroupHidden bool
}

// IsOurs reports whether this process has the same user and group.
func (u User) IsOurs() bool {
	return int(u.UID) == os.Geteuid() && (u.GroupHidden || int(u.GID) == os.Getegid())
}

// Settings returns what to write into the securityContext of a pod, so that its sidecar has
// this user and group.
func (u User) Settings() string {
	if u.GroupHidden {
		return fmt.Sprintf("set runAsUser: %d, and runAsGroup to its group, which `id -g` in its container prints", u.UID)
	}
	return fmt.Sprintf("set runAsUser: %d, runAsGroup: %d", u.UID, u.GID)
}

// Advice returns the user of the JVM, and what to do so that its sidecar can speak to the JVM.
// The status and the hints in the log all contain this text.
func (u User) Advice() string { return fmt.Sprintf("the JVM runs as %s: %s", u, u.Settings()) }

// String returns the user and the group with a colon between them, if both are known.
func (u User) String() string {
	if u.GroupHidden {
		return fmt.Sprintf("user %d", u.UID)
	}
	return fmt.Sprintf("%d:%d", u.UID, u.GID)
}
