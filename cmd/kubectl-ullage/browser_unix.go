//go:build !windows

package main

import "syscall"

// detached keeps a Ctrl-C on our terminal away from a browser that we start.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
