package attach

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"
)

// Mode is how JVMs are found.
type Mode string

// The modes of --attach.
const (
	Auto             Mode = "auto"              // both ways
	SharedTmp        Mode = "shared-tmp"        // by their sockets in a directory
	ProcessNamespace Mode = "process-namespace" // among the visible processes
	Off              Mode = "off"               // not at all
)

// Choices returns the modes.
func (m *Mode) Choices() []string {
	return []string{string(Auto), string(SharedTmp), string(ProcessNamespace), string(Off)}
}

// Set implements [flag.Value]. It ignores case.
func (m *Mode) Set(text string) error {
	switch v := Mode(strings.ToLower(text)); v {
	case Auto, SharedTmp, ProcessNamespace, Off:
		*m = v
		return nil
	}
	return errors.New("use auto, shared-tmp, process-namespace or off")
}

func (m *Mode) String() string { return string(*m) }

// Config has the settings of a [Client].
type Config struct {
	Mode Mode
	Tmp  string // directory with the attach sockets of JVMs whose processes are not visible

	// PID, if not zero, is the only process to consider: the process ID in our own namespace,
	// or the number in the name of the socket. Not a flag.
	PID int

	// Passive means that a JVM that does not listen yet is left alone, instead of being sent a
	// signal that makes it listen. Not a flag.
	Passive bool

	// Timeout bounds one command, from looking up the socket to the last byte
	// of the reply. Not a flag.
	Timeout time.Duration
}

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config {
	return Config{Mode: Auto, Tmp: "/tmp", Timeout: 5 * time.Second}
}

// Flags declares the settings on fs, with the values of c as defaults.
func (c *Config) Flags(fs *flag.FlagSet) {
	fs.Var(&c.Mode, "attach", "`MODE` of finding the JVMs whose log levels are changed: shared-tmp (by their sockets in --jvm-tmp; start them with\n-XX:+StartAttachListener), process-namespace (among the pod's processes), off, or auto (both)")
	fs.StringVar(&c.Tmp, "jvm-tmp", c.Tmp, "`DIR` shared with the JVM as its /tmp, which holds its attach socket")
}

// Validate returns one error for each setting that cannot work.
func (c Config) Validate() []error {
	var bad []error
	var m Mode
	if err := m.Set(string(c.Mode)); err != nil {
		bad = append(bad, fmt.Errorf("--attach %q: %w", c.Mode, err))
	}
	if c.Tmp == "" {
		bad = append(bad, errors.New("--jvm-tmp is empty: name the directory that the JVM has as its /tmp"))
	}
	if c.PID < 0 || c.PID > maxPID {
		bad = append(bad, fmt.Errorf("%d is not a process ID: use 1 to %d, or 0 for all", c.PID, maxPID))
	}
	if c.Timeout <= 0 {
		bad = append(bad, fmt.Errorf("%v is not a usable timeout for a command: use 5s", c.Timeout))
	}
	return bad
}
