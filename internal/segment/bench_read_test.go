package segment_test

import (
	"testing"

	"github.com/ullage/ullage/internal/segment"
)

// BenchmarkRead decodes a segment of 64 MiB of lines.
func BenchmarkRead(b *testing.B) {
	for _, how := range writtenCompressions {
		b.Run(how.String(), func(b *testing.B) {
			dir := b.TempDir()
			str := freshStream(b, openStore(b, dir, configOf(how)), "gc")
			data := lines(1, 256<<10)
			for range 256 {
				must(b, str.Append(data))
			}
			m := sync(b, str)
			b.SetBytes(int64(256 * len(data)))
			b.ReportAllocs()
			for b.Loop() {
				r, err := segment.OpenReader(dir + "/gc/" + m.Segment)
				must(b, err)
				for {
					if _, err := r.Next(); err != nil {
						break
					}
				}
				must(b, r.Close())
			}
		})
	}
}
