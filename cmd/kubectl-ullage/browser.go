package main

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"

	"github.com/ullage/ullage/internal/base/cli"
)

// browse shows a URL in the user's browser. If there is no browser, it returns an error, and
// the user has to open the URL elsewhere. It does not wait for a browser to end.
func browse(e cli.Env, url string) error {
	name, args := browser(e, url)
	if name == "" {
		return errors.New("there is no display (set BROWSER to the name of a browser)")
	}
	cmd := exec.Command(name, args...)
	cmd.SysProcAttr = detached()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a browser: %w", err)
	}
	_ = cmd.Process.Release() // the browser may outlive us
	return nil
}

// browser returns the command that opens a URL; an empty name means that there is no browser.
// The variable BROWSER names the browser, as for many other programs.
func browser(e cli.Env, url string) (name string, args []string) {
	if own, ok := e.LookupEnv("BROWSER"); ok && own != "" {
		return own, []string{url}
	}
	return opener(runtime.GOOS, e.LookupEnv, url)
}

// opener returns the command that opens a URL on a system.
func opener(system string, lookupEnv func(string) (string, bool), url string) (name string, args []string) {
	switch system {
	case "darwin":
		return "open", []string{url}
	case "windows":
		// This is not "cmd /c start", for which a & in the URL would begin another command.
		return "rundll32", []string{"url.dll,FileProtocolHandler", url}
	}
	// Without a display, xdg-open would run a browser on this terminal.
	for _, display := range []string{"DISPLAY", "WAYLAND_DISPLAY"} {
		if value, ok := lookupEnv(display); ok && value != "" {
			return "xdg-open", []string{url}
		}
	}
	return "", nil
}
