package tail

import (
	"errors"
	"flag"
	"fmt"
	"path"
	"strings"

	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/ul"
)

// Mode says how the memory of committed bytes is freed.
type Mode string

// The modes of --reclaim.
const (
	ReclaimAuto   Mode = "auto"   // punch where permission allows, otherwise unlink
	ReclaimPunch  Mode = "punch"  // punch whole pages, unlink finished files
	ReclaimUnlink Mode = "unlink" // unlink finished files only
	ReclaimNone   Mode = "none"   // leave everything to others
)

// Choices returns the modes.
func (m *Mode) Choices() []string {
	return []string{string(ReclaimAuto), string(ReclaimPunch), string(ReclaimUnlink), string(ReclaimNone)}
}

// Set implements [flag.Value]. Case does not matter.
func (m *Mode) Set(text string) error {
	switch v := Mode(strings.ToLower(text)); v {
	case ReclaimAuto, ReclaimPunch, ReclaimUnlink, ReclaimNone:
		*m = v
		return nil
	}
	return errors.New("use auto, punch, unlink or none")
}

func (m *Mode) String() string { return string(*m) }

// Config holds the settings of a [Source].
type Config struct {
	Source  string // directory that JVMs write into
	Match   string // glob of the files in it that are followed
	Formats format.Rules
	Reclaim Mode

	// LineLimit is the length in bytes above which a line is handed on in pieces.
	// [Reader.Area] returns how much memory Next needs. Not a flag.
	LineLimit int

	// PersistLevel is the level below which lines are withheld, see [Chunk.Withheld]; the zero
	// value and [ul.Trace] withhold none. All pieces of a line are treated like its first piece,
	// and all further lines of a record like its first line. Not a flag.
	PersistLevel ul.Level

	// Watched is a directory outside the source whose changes are reported to
	// [Outlets.Watched]; empty: none. Not a flag.
	Watched string

	// Frames is set if the receiver of chunks accepts zstd frames, see [Chunk.Frame]. Not a
	// flag.
	Frames bool
}

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config {
	return Config{Source: "/var/log/jvm", Match: "*.log*", Reclaim: ReclaimAuto, LineLimit: 1 << 20}
}

// Flags declares the settings on fs, with the values of c as defaults.
func (c *Config) Flags(fs *flag.FlagSet) {
	fs.StringVar(&c.Source, "source", c.Source, "`DIR` on a tmpfs that JVMs write their logs to; ullage waits for it if it is missing")
	fs.StringVar(&c.Match, "match", c.Match, "follow the files in the source that match this `GLOB`, which must match archives too. The files that a crashing JVM leaves (hs_err*, replay_pid*, inline_pid*, hotspot_*) and ullage's own (ullage.log, and the events of rings) are always followed")
	fs.Var(&c.Formats, "format", "the format of streams whose name matches a glob, as `GLOB=NAME`: "+format.Names+"\n(pattern is that of Logback, Log4j and Spring Boot); repeat the flag, or separate several by spaces; the first match wins; streams without a match: auto, every format but plain;\nsee "+build.Docs+"application.md")
	fs.Var(&c.Reclaim, "reclaim", "`MODE` in which memory of the tmpfs is freed: punch (punch holes into committed pages; needs write permission),\nunlink (only unlink files that have no writer), none, or auto (the first of these that is permitted)")
}

// Validate returns one error for each setting that cannot work.
func (c Config) Validate() []error {
	var bad []error
	if c.Source == "" {
		bad = append(bad, fmt.Errorf("--source is empty: name the directory that the JVM logs into"))
	}
	if _, err := path.Match(c.Match, "x"); err != nil || c.Match == "" || strings.Contains(c.Match, "/") {
		bad = append(bad, fmt.Errorf("--match %q is not a pattern for file names (write it like *.log*)", c.Match))
	}
	return bad
}
