package segment

import (
	"fmt"
	"strings"
)

// Compression is how the frames of a segment are encoded. It implements
// [flag.Value] and [encoding.TextMarshaler]. The zero value is Zstd.
type Compression uint8

// The compressions. The suffix of a segment's name shows its compression.
const (
	Zstd Compression = iota
	Gzip             // an earlier version wrote it; it is still read, but not written
	None
)

var compressions = [...]struct{ text, suffix string }{
	Zstd: {"zstd", ".log.zst"},
	Gzip: {"gzip", ".log.gz"},
	None: {"none", ".log"},
}

// Valid reports whether c is one of the compressions.
func (c Compression) Valid() bool { return int(c) < len(compressions) }

// String returns the value as the flag accepts it.
func (c Compression) String() string {
	if !c.Valid() {
		return fmt.Sprintf("Compression(%d)", uint8(c))
	}
	return compressions[c].text
}

// Choices returns the compressions that can be written.
func (c *Compression) Choices() []string { return []string{Zstd.String(), None.String()} }

// Set implements [flag.Value] and ignores case. It refuses Gzip, which is only read.
func (c *Compression) Set(text string) error {
	for i, known := range compressions {
		if strings.EqualFold(text, known.text) && Compression(i) != Gzip {
			*c = Compression(i)
			return nil
		}
	}
	return fmt.Errorf("%q is not a compression (use zstd or none)", text)
}

// MarshalText implements [encoding.TextMarshaler] with [Compression.String].
func (c Compression) MarshalText() ([]byte, error) { return []byte(c.String()), nil }
