package main

import "syscall"

// detached gives a browser its own process group: a Ctrl-C on our console does not end it.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
