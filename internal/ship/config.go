package ship

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/store"
	"github.com/ullage/ullage/internal/ship/tail"
)

// Config holds the settings of a [Shipper].
type Config struct {
	Tail    tail.Config
	Segment store.Config

	Dest      string        // durable directory
	Budget    settings.Size // how much of the tmpfs the backlog may take; 0: all of it
	KeepLevel KeepLevel

	// Queue is the memory between reader and writer; at most a quarter of the budget is used.
	// A full queue leaves the backlog on the tmpfs. At least 256 KiB. Not a flag.
	Queue settings.Size

	// SpoolAt, DiscardAt and DropAt are percentages of the budget. Above SpoolAt, lines are
	// moved into the spool; above DiscardAt, lines below KeepLevel are dropped; above DropAt,
	// lines of all levels are dropped if nothing else frees memory. They are from 5 to 95, each
	// lower than the next. Not flags.
	SpoolAt, DiscardAt, DropAt int

	// PersistLevel is the level below which lines are withheld: they are counted but not
	// persisted. [ul.Trace] withholds none.
	PersistLevel ul.Level
	Hindsight    time.Duration // how long withheld lines are held; 0: not at all

	SyncInterval time.Duration // the longest time from reading a line to its commit
	SyncBytes    settings.Size // the most bytes between commits; at most an eighth of the budget. At least 64 KiB. Not a flag
	DrainTimeout time.Duration // the longest time from the end of Run's context to its return
}

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config {
	return Config{
		Tail:         tail.DefaultConfig(),
		Segment:      store.DefaultConfig(),
		Dest:         "/var/lib/ullage",
		Queue:        4 * settings.Mi,
		SpoolAt:      25,
		DiscardAt:    60,
		DropAt:       85,
		KeepLevel:    KeepLevel(ul.Warning),
		PersistLevel: ul.Trace,
		Hindsight:    time.Minute,
		SyncInterval: time.Second,
		SyncBytes:    8 * settings.Mi,
		DrainTimeout: 20 * time.Second,
	}
}

// Groups returns the settings, grouped by the parts of shipping, with the values of c as
// defaults.
func (c *Config) Groups() []settings.Group {
	return append([]settings.Group{{Title: "What is shipped", Flags: c.Tail.Flags}}, c.CopyGroups()...)
}

// CopyGroups returns the settings of everything but the source.
func (c *Config) CopyGroups() []settings.Group {
	return []settings.Group{
		{Title: "The durable copy, and what happens under pressure", Flags: c.flags},
		{Title: "Its segments", Flags: c.Segment.Flags},
	}
}

// Flags declares the settings on fs, with the values of c as defaults.
func (c *Config) Flags(fs *flag.FlagSet) { settings.Declare(fs, c.Groups()) }

func (c *Config) flags(fs *flag.FlagSet) {
	fs.StringVar(&c.Dest, "dest", c.Dest, "durable `DIR`; each stream has its own directory in it")
	fs.Var(&c.Budget, "budget", "`SIZE` that the backlog may use of the tmpfs; 0: all of it")
	fs.Var(&c.KeepLevel, "keep-level", fmt.Sprintf("while the destination stalls, drop lines below this `LEVEL` past %d%% of the budget,\nand lines of all levels past %d%%: trace, debug, info, warning, error, or off (all levels alike)", c.DiscardAt, c.DropAt))
	fs.Var(&c.PersistLevel, "persist-level", "lowest `LEVEL` that is persisted: trace (all), debug, info, warning or error; lines below it are counted, and held for --hindsight")
	settings.DurationVar(fs, &c.Hindsight, "hindsight", c.Hindsight, "hold lines below --persist-level for this `DURATION` in an eighth of the budget; when a condition of --hindsight-on is met,\npersist them, and the lines of an equally long time after that, in the stream NAME"+naming.DetailSuffix+"; 0: hold none")
	settings.DurationVar(fs, &c.SyncInterval, "sync-interval", c.SyncInterval, "commit at least every `DURATION`")
	settings.DurationVar(fs, &c.DrainTimeout, "drain-timeout", c.DrainTimeout, "after SIGTERM, commit everything that was written and exit within this `DURATION`")
}

// Validate returns one error for each setting that cannot work.
func (c Config) Validate() []error {
	bad := append(c.Tail.Validate(), c.Segment.Validate()...)
	if c.Dest == "" {
		bad = append(bad, fmt.Errorf("--dest is empty: name the durable directory"))
	}
	if c.Tail.Source != "" && inside(c.Dest, c.Tail.Source) {
		bad = append(bad, fmt.Errorf("--dest %q is inside --source %q: the durable copy must not be on the tmpfs", c.Dest, c.Tail.Source))
	}
	if c.SyncInterval < 10*time.Millisecond || c.SyncInterval > time.Hour {
		bad = append(bad, fmt.Errorf("--sync-interval %s is out of range: 10ms to 1h", c.SyncInterval))
	}
	if c.Budget != 0 && c.Budget < settings.Mi {
		bad = append(bad, fmt.Errorf("--budget %s is too small: at least 1Mi, or 0 for the size of the tmpfs", c.Budget))
	}
	if c.Hindsight < 0 || c.Hindsight > time.Hour {
		bad = append(bad, fmt.Errorf("--hindsight %s is out of range: 0s to 1h", c.Hindsight))
	}
	if c.DrainTimeout <= 0 {
		bad = append(bad, fmt.Errorf("--drain-timeout %s is not positive", c.DrainTimeout))
	}
	return bad
}

// withholds reports whether any line can be withheld.
func (c Config) withholds() bool { return c.PersistLevel > ul.Trace }

// KeepLevel is the lowest level whose lines are kept under pressure, or "off" to keep
// none.
type KeepLevel ul.Level

// Choices returns the names of the levels, and off.
func (k *KeepLevel) Choices() []string { return append(ul.Levels(), "off") }

// Set implements [flag.Value].
func (k *KeepLevel) Set(text string) error {
	if strings.EqualFold(text, "off") {
		*k = ul.NumLevels
		return nil
	}
	if (*ul.Level)(k).Set(text) != nil {
		return errors.New("use trace, debug, info, warning, error or off")
	}
	return nil
}

func (k *KeepLevel) String() string {
	if *k >= ul.NumLevels {
		return "off"
	}
	return ul.Level(*k).String()
}

// inside reports whether, judging by the names, dir is root or below it.
func inside(dir, root string) bool {
	d, err1 := filepath.Abs(dir)
	r, err2 := filepath.Abs(root)
	return err1 == nil && err2 == nil && strings.HasPrefix(d+"/", strings.TrimSuffix(r, "/")+"/")
}

// lineLimit is the length above which a line is handed on in pieces. The queue must have
// room for several pieces, so that reader and writer can work at the same time.
func (c Config) lineLimit() int { return min(1<<20, int(c.Queue)/4) - tail.AreaSlack }

// frameBytes is how much the writer puts into one compressed frame. A larger frame does not
// compress better, and a smaller one keeps the bytes in the processor's cache.
func (c Config) frameBytes() int { return min(512<<10, int(c.Queue)/4) }

// plainBatch and packedBatch are how many bytes are appended at once between commits, without and
// with compression. The numbers are small because lines in the queue are not in the copy yet.
// Without compression, a larger append is not cheaper; with compression, it makes frames that
// compress better.
const (
	plainBatch  = 256 << 10
	packedBatch = 448 << 10
)

// batchBytes returns how many bytes gather in the queue before the writer is woken to
// append them between commits. The argument is the size of a frame.
func (c Config) batchBytes(frame int) int {
	if c.Segment.Compress == segment.None {
		return min(plainBatch, frame)
	}
	return min(packedBatch, frame)
}

// mostUncommitted bounds the bytes on disk after a mark: there are never more between two
// commits, whatever the budget was. If there are more after a checkpoint's mark, that mark is
// not the stream's last.
func (c Config) mostUncommitted() int64 {
	// Twice, for frames that compression has enlarged, plus headers.
	return 2*(int64(c.SyncBytes)+int64(c.frameBytes())) + 1<<20
}
