package attach

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

const listReply = "0\nLog output configuration:\n #0: stdout all=warning uptime,level,tags\n"

// standIn maps LIB, opens LOG, and reacts to SIGQUIT as HotSpot does: it looks for a trigger file
// of its own user and begins to listen. It ends at the end of its standard input and then prints
// how many times it received SIGQUIT.
func standIn() error {
	quit, later := make(chan os.Signal, 16), make(chan os.Signal, 1)
	signal.Notify(later, unix.SIGUSR1)
	if os.Getenv("QUIT") == "ignore" {
		signal.Ignore(unix.SIGQUIT)
	} else {
		signal.Notify(quit, unix.SIGQUIT)
	}
	log, err := os.OpenFile(os.Getenv("LOG"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil && os.Getenv("LOG") != "" {
		return err
	}
	defer log.Close()
	lib, err := os.Open(os.Getenv("LIB"))
	if err != nil {
		return err
	}
	if os.Getenv("VM") != "none" {
		beVMThread()
	}
	if root := os.Getenv("ROOT"); root != "" {
		if err := syscall.Chroot(root); err != nil {
			return err
		}
		if err := os.Chdir(os.Getenv("CWD")); err != nil {
			return err
		}
	}
	prot := unix.PROT_READ | unix.PROT_EXEC
	if os.Getenv("MAP") == "read" {
		prot = unix.PROT_READ
	}
	mapLib := func() error {
		_, err := unix.Mmap(int(lib.Fd()), 0, 4096, prot, unix.MAP_PRIVATE)
		return err
	}
	if os.Getenv("LATE") == "" {
		if err := mapLib(); err != nil {
			return err
		}
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _, _ = io.Copy(io.Discard, os.Stdin) }()
	fmt.Println("ready")
	count := 0
	for {
		select {
		case <-quit:
			count++
			if os.Getenv("QUIT") == "" {
				if err := answerTrigger(); err != nil {
					return err
				}
			}
		case <-later:
			if err := mapLib(); err != nil {
				return err
			}
			fmt.Println("mapped")
		case <-ended:
			fmt.Println(count + len(quit))
			return nil
		}
	}
}

// beVMThread gives a thread the name of HotSpot's VM thread, which identifies a JVM.
func beVMThread() {
	named := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		_ = os.WriteFile("/proc/thread-self/comm", []byte("VM Thread"), 0o644)
		close(named)
		select {}
	}()
	<-named
}

func answerTrigger() error {
	name := fmt.Sprintf(".attach_pid%d", os.Getpid())
	info, err := os.Stat(name)
	if err != nil {
		info, err = os.Stat("/tmp/" + name)
	}
	if err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
		return nil
	}
	path := "/tmp/" + socketName(os.Getpid())
	l, err := net.Listen("unix", path+".tmp")
	if err != nil {
		return err
	}
	go serve(l, func(c net.Conn) { fmt.Fprint(c, listReply) })
	if err := os.Chmod(path+".tmp", 0o600); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// serve reads a request from each connection and answers it, until l is closed.
func serve(l net.Listener, answer func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		request := make([]byte, len(request(List())))
		if _, err := io.ReadFull(c, request); err == nil {
			answer(c)
		}
		c.Close()
	}
}
