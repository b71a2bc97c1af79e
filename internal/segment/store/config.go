package store

import (
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/segment"
)

// minSegment prevents a mistyped size from giving each frame its own file.
const minSegment = 4 * settings.Ki

// Config says how segments are written and how long they are kept. All sizes count
// bytes on disk, compressed. [DefaultConfig] returns a Config that works.
type Config struct {
	// Compress encodes new segments. Segments of another compression are kept and
	// read, but nothing is appended to them.
	Compress segment.Compression

	// SegmentBytes seals a segment at the first sync that finds it at or over this size. A segment
	// exceeds the size by less than one commit. When many streams grow at once, segments are
	// sealed earlier, so that the active segments together take at most a quarter of RetainBytes.
	SegmentBytes settings.Size

	// Reread keeps synced pages in the page cache, for a sink that soon reads them. Otherwise they
	// are dropped from the page cache, where they would displace pages that the application uses.
	Reread bool

	// SegmentAge is the age at which a segment is sealed. Zero: never. It is not a flag: the
	// sidecar sets it for a sink of whole segments.
	SegmentAge time.Duration

	// RetainBytes is how much space on the file system all segments of all streams, with their
	// directories, may take, in whole blocks. Segments may take the same share of the inodes.
	// Beyond either bound, the oldest segments are deleted. Zero: no bound.
	RetainBytes settings.Size

	// RetainAge deletes a segment this long after its last write.
	// Zero: never.
	RetainAge time.Duration
}

// DefaultConfig returns the defaults of the flags.
func DefaultConfig() Config {
	return Config{
		Compress:     segment.Zstd,
		SegmentBytes: 64 * settings.Mi,
		SegmentAge:   time.Hour,
		RetainBytes:  1 * settings.Gi,
		RetainAge:    168 * time.Hour,
	}
}

// Flags declares the settings on fs, with the values of c as defaults.
func (c *Config) Flags(fs *flag.FlagSet) {
	fs.Var(&c.Compress, "compress", "compression `FORMAT` of new segments: zstd (read with zstdcat) or none")
	fs.Var(&c.SegmentBytes, "segment-bytes", "seal a segment at this `SIZE` on disk, or after an hour, and start another")
	fs.Var(&c.RetainBytes, "retain-bytes",
		"delete the oldest segments when all segments together use more than this `SIZE` of the volume, or the same share of its inodes, or when the volume is almost full; 0: no limit")
	settings.DurationVar(fs, &c.RetainAge, "retain-age", c.RetainAge,
		"delete a segment this `DURATION` after its last write; 0: never by age")
}

// Validate returns one error for each setting that cannot work.
func (c Config) Validate() []error {
	var bad []error
	if c.Compress != segment.Zstd && c.Compress != segment.None {
		bad = append(bad, fmt.Errorf("--compress is %s: use zstd or none", c.Compress))
	}
	if c.SegmentBytes < minSegment {
		bad = append(bad, fmt.Errorf("--segment-bytes is %s: it must be at least %s", c.SegmentBytes, minSegment))
	}
	if c.RetainBytes < 0 {
		bad = append(bad, errors.New("--retain-bytes must not be negative (0: no limit)"))
	} else if c.RetainBytes != 0 && c.RetainBytes < c.SegmentBytes {
		bad = append(bad, fmt.Errorf("--retain-bytes is %s: it must hold at least one segment, but --segment-bytes is %s (0: no limit)",
			c.RetainBytes, c.SegmentBytes))
	}
	if c.RetainAge < 0 {
		bad = append(bad, fmt.Errorf("--retain-age is %s: it must not be negative (0: never by age)", c.RetainAge))
	}
	return bad
}
