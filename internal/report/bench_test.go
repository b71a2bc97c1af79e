package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkRead prints how fast plain text is read, on one core: a log of G1 at level
// debug, and one with pauses, CPU times and safepoints alone.
func BenchmarkRead(b *testing.B) {
	debug, err := os.ReadFile(samples + "debug-g1-jdk25.log")
	if err != nil {
		b.Fatal(err)
	}
	var info strings.Builder
	for i := range 1000 {
		at := float64(i) / 2
		info.WriteString(decorated(at, "gc,start", fmt.Sprintf("GC(%d) Pause Young (Normal) (G1 Evacuation Pause)", i)))
		info.WriteString(young(i, at, 2))
		info.WriteString(decorated(at, "gc,cpu", fmt.Sprintf("GC(%d) User=0.01s Sys=0.00s Real=0.00s", i)))
		info.WriteString(decorated(at, "safepoint", `Safepoint "G1CollectForAllocation", Time since last: 29293918 ns, Reaching safepoint: 3363 ns, At safepoint: 2225235 ns, Total: 2229599 ns`))
	}
	for name, text := range map[string]string{"debug": string(debug), "info": info.String()} {
		b.Run(name, func(b *testing.B) {
			const size = 64 << 20
			path := filepath.Join(b.TempDir(), "gc.log")
			if err := os.WriteFile(path, []byte(strings.Repeat(text, size/len(text))), 0o600); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(size / int64(len(text)) * int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Read(b.Context(), []string{path}, Config{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
