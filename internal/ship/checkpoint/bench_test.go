package checkpoint

import (
	"fmt"
	"testing"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ship/position"
)

// BenchmarkSave measures the cost of a commit's positions, by the number of streams with one file
// each.
func BenchmarkSave(b *testing.B) {
	for _, streams := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint("streams=", streams), func(b *testing.B) {
			c := attached(b, testKey, b.TempDir())
			for n := range streams {
				of := file1
				of.Ino += uint64(n)
				stream := fmt.Sprintf("gc-%d.log", n)
				c.SetFile(of, position.Saved{Stream: stream, Position: position.Position{Offset: int64(n) << 20, Check: 5, CheckLen: 64}})
				c.SetMark(stream, segment.Mark{Segment: mark1.Segment, Offset: int64(n) << 16})
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Save(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
