package pause

import (
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/line/ul"
)

// benchmark parses the lines of an excerpt of a real log in turn.
func benchmark(b *testing.B, lines [][]byte) {
	size := 0
	for _, line := range lines {
		size += len(line)
	}
	b.ReportAllocs()
	b.SetBytes(int64(size / len(lines)))
	for i := 0; b.Loop(); {
		Parse(lines[i])
		if i++; i == len(lines) {
			i = 0
		}
	}
}

// BenchmarkDebugLog parses the lines of a whole collection, at gc*=debug,safepoint*=debug.
func BenchmarkDebugLog(b *testing.B) {
	for _, name := range []string{"debug-g1-jdk17.log", "debug-g1-jdk25.log"} {
		b.Run(name, func(b *testing.B) { benchmark(b, sample(b, name)) })
	}
}

// BenchmarkEvent parses lines of each kind of event, with few and with all decorators.
func BenchmarkEvent(b *testing.B) {
	for _, name := range []string{"g1-jdk25.log", "all-decorators-jdk25.log"} {
		for kind := Pause; kind <= CPU; kind++ {
			var lines [][]byte
			for _, line := range sample(b, name) {
				if e, _ := Parse(line); e.Kind == kind {
					lines = append(lines, line)
				}
			}
			b.Run(name+"/"+kind.String(), func(b *testing.B) { benchmark(b, lines) })
		}
	}
}

// BenchmarkJoin joins the lines of logs, including logs of JDK 8.
func BenchmarkJoin(b *testing.B) {
	logs := map[string][][]byte{"cms-jdk8": lines(strings.Split(oldCMS, "\n")...), "g1-jdk8": lines(strings.Split(oldG1, "\n")...)}
	for _, name := range []string{"debug-g1-jdk17.log", "debug-g1-jdk25.log", "g1-jdk17.log"} {
		logs[name] = sample(b, name)
	}
	for name, lines := range logs {
		b.Run(name, func(b *testing.B) {
			size := 0
			for _, line := range lines {
				size += len(line) + 1
			}
			b.SetBytes(int64(size / len(lines)))
			j := NewJoiner(Handlers{Pause: func(*GCPause) {}, Stop: func(*Stop) {}, Collection: func(*Collection) {}})
			b.ReportAllocs()
			for i := 0; b.Loop(); {
				j.Line(lines[i], ul.Class{})
				if i++; i == len(lines) {
					i = 0
				}
			}
		})
	}
}
