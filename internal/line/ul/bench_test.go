package ul

import "testing"

// benchmark runs a function over the lines of a real log in turn.
func benchmark(b *testing.B, lines [][]byte, one func(line []byte)) {
	size := 0
	for _, line := range lines {
		size += len(line)
	}
	b.ReportAllocs()
	b.SetBytes(int64(size / len(lines)))
	for i := 0; b.Loop(); {
		one(lines[i])
		if i++; i == len(lines) {
			i = 0
		}
	}
}

func BenchmarkClassify(b *testing.B) {
	for _, s := range samples {
		b.Run(s.name, func(b *testing.B) {
			var c Classifier
			benchmark(b, sample(b, s.name), func(line []byte) { c.Classify(line) })
		})
		b.Run("unpadded-"+s.name, func(b *testing.B) {
			var c Classifier
			benchmark(b, unpadded(sample(b, s.name)), func(line []byte) { c.Classify(line) })
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for _, s := range samples {
		b.Run(s.name, func(b *testing.B) {
			var r Record
			benchmark(b, sample(b, s.name), func(line []byte) { r.Parse(line) })
		})
		b.Run("stream-"+s.name, func(b *testing.B) {
			var p Parser
			benchmark(b, sample(b, s.name), func(line []byte) { p.Parse(line) })
		})
	}
}
