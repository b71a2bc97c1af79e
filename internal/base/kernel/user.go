package kernel

import (
	"fmt"
	"os"
)

// User is the user of another process, as a file that it created shows it.
type User struct {
	UID, GID uint32

	// GroupHidden says that GID may not be the group of the process: a directory with the
	// setgid bit, as the kubelet makes one for fsGroup, gives its own group to all files.
	GroupHidden bool
}

// IsOurs reports whether this process has the same user and group.
func (u User) IsOurs() bool {
	return int(u.UID) == os.Geteuid() && (u.GroupHidden || int(u.GID) == os.Getegid())
}

// Settings says what to write into the securityContext of a pod, so that its sidecar has
// the user and group.
func (u User) Settings() string {
	if u.GroupHidden {
		return fmt.Sprintf("set runAsUser: %d, and runAsGroup to its group, which `id -g` in its container prints", u.UID)
	}
	return fmt.Sprintf("set runAsUser: %d, runAsGroup: %d", u.UID, u.GID)
}

// Advice says who the JVM of the user is, and what to do so that its sidecar can speak to
// it: every place that reports this has the same words.
func (u User) Advice() string { return fmt.Sprintf("the JVM runs as %s: %s", u, u.Settings()) }

// String is the user and the group with a colon between, if both are known.
func (u User) String() string {
	if u.GroupHidden {
		return fmt.Sprintf("user %d", u.UID)
	}
	return fmt.Sprintf("%d:%d", u.UID, u.GID)
}
