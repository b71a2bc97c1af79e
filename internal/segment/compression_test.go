package segment_test

import (
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/segment"
)

func TestCompressionText(t *testing.T) {
	for _, how := range allCompressions {
		var back segment.Compression
		text, err := how.MarshalText()
		must(t, err)
		must(t, back.Set(string(text)))
		if back != how {
			t.Errorf("%s came back as %s", how, back)
		}
	}
	var c segment.Compression
	if err := c.Set("lz4"); err == nil || !strings.Contains(err.Error(), "zstd, gzip or none") {
		t.Errorf("lz4: %v", err)
	}
}
