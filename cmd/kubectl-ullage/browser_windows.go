package main

import "syscall"

// detached starts a browser in its own process group, so that a Ctrl-C on our console does not end
// it.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
