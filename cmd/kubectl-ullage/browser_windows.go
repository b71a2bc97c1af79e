package main

import "syscall"

// detached keeps a Ctrl-C on our console from a browser that we start.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
