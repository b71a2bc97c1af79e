package segment_test

import (
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/segment"
)

func TestCompressionText(t *testing.T) {
	for _, how := range []segment.Compression{segment.Zstd, segment.None} {
		var back segment.Compression
		text, err := how.MarshalText()
		must(t, err)
		must(t, back.Set(string(text)))
		if back != how {
			t.Errorf("%s came back as %s", how, back)
		}
	}
	var c segment.Compression
	must(t, c.Set("NONE"))
	must(t, c.Set("ZSTD"))
	if c != segment.Zstd {
		t.Errorf("ZSTD is %s, want %s", c, segment.Zstd)
	}
	for _, text := range []string{"lz4", segment.Gzip.String()} { // gzip is only read
		if err := c.Set(text); err == nil || !strings.Contains(err.Error(), "use zstd or none") {
			t.Errorf(`%s: the error is %v, want "use zstd or none" in it`, text, err)
		}
	}
}
