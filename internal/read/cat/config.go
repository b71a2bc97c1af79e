package cat

import (
	"errors"
	"time"

	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/read"
	"github.com/ullage/ullage/internal/segment/clock"
)

// Config says what to print. The zero value prints everything.
type Config struct {
	Follow  bool      // print what is appended, until interrupted
	Since   time.Time // zero: from the beginning
	Until   time.Time // print no later lines; zero: to the end
	Tail    int       // print only this many lines, the last of the output; 0: print all
	Level   ul.Level  // Unknown: all levels
	Stream  string    // a glob; empty: all streams
	Formats format.Rules
	Gaps    bool // list the gaps, and print no lines
	Marks   bool // list the marks and the gaps, and print no lines
	JSON    bool // print each line, mark or gap as an object
	Color   bool // color lines by level, if they are printed on a terminal

	poll      time.Duration // the longest time between two passes of a follower; 0: pollEvery
	unwatched bool          // a follower gets no events, as on a network file system
}

// Validate returns one error for each setting that cannot work.
func (c Config) Validate() []error {
	var bad []error
	if err := read.Streams(c.Stream).Validate(); err != nil {
		bad = append(bad, err)
	}
	if c.listing() && c.Level != ul.Unknown {
		bad = append(bad, errors.New("--gaps and --marks cannot be combined with --level: a gap has lines of several levels, and the list shows how many of each; leave out --level"))
	}
	if c.Follow && !c.Until.IsZero() {
		bad = append(bad, errors.New("--follow cannot be combined with an end time (--until, --around): following ends when it is interrupted"))
	}
	if err := c.window().Validate(); err != nil {
		bad = append(bad, err)
	}
	return bad
}

// matches reports whether a stream is wanted.
func (c Config) matches(stream string) bool { return read.Streams(c.Stream).Match(stream) }

func (c Config) window() clock.Window { return clock.Window{Since: c.Since, Until: c.Until} }

// wants reports whether a stream of a destination is wanted. The stream of marks is not a
// JVM's, so it is wanted only if Stream matches it.
func (c Config) wants(stream string) bool {
	if stream == mark.Stream {
		return c.Marks || c.Stream != "" && c.matches(stream)
	}
	return c.matches(stream)
}

// listing reports whether a table is printed instead of lines.
func (c Config) listing() bool { return c.Gaps || c.Marks }

// listed says what the rows of the table are.
func (c Config) listed() string {
	if c.Marks {
		return "marks or gaps"
	}
	return "gaps"
}

// selects reports whether some lines may be unwanted.
func (c Config) selects() bool {
	return c.listing() || c.Level != ul.Unknown || c.window().Bounded()
}

// timed reports whether the times of lines are needed even for a single stream.
func (c Config) timed() bool { return c.JSON || c.listing() || c.window().Bounded() }
