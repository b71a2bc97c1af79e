package admin

import (
	"flag"
	"fmt"
	"net"
	"strconv"
)

// Off is the value of Config.Listen that opens no listener.
const Off = "off"

// Config is where the admin HTTP listens.
type Config struct {
	// Listen is "host:port", ":port" for every address, or [Off]. Port 0
	// selects any free port. Listen is never empty.
	Listen string

	// Connections is how many connections may be open at once; 0 means 32. When another client
	// connects, the idlest connection is closed. Connections is not a flag: the limit on
	// descriptors determines it.
	Connections int
}

// DefaultConfig listens on port 9919, which no agent inside a JVM uses (their
// customary ports are 9404 and 9464).
func DefaultConfig() Config { return Config{Listen: ":9919"} }

// Flags declares the settings on fs, with the values of c as defaults.
func (c *Config) Flags(fs *flag.FlagSet) {
	fs.StringVar(&c.Listen, "listen", c.Listen,
		"`ADDRESS` for admin HTTP (/metrics /healthz /readyz /status): \":port\", \"host:port\", or \"off\"")
}

// Validate returns one error for each bad setting.
func (c Config) Validate() []error {
	if c.Listen == Off {
		return nil
	}
	_, port, err := net.SplitHostPort(c.Listen)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return []error{fmt.Errorf("invalid value %q for --listen: write it like :9919, 127.0.0.1:9919 or off", c.Listen)}
	}
	return nil
}
