package sinks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/test/lab"
)

// BenchmarkS3Compare compares a day of 200 pods in a bucket by their marks. Each mark is an object of its own. The
// benchmark prints the memory of the command and the size of the page. The objects of the logs cannot be read.
func BenchmarkS3Compare(b *testing.B) {
	const pods, bytes = 200, "1g"
	g := newGatewayIn(b, lab.Tmpfs(b, bytes))
	rng := rand.New(rand.NewPCG(1, 2))
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for pod := range pods {
		container := filepath.Join(g.bucket(), "prod", "log", "namespace=shop", fmt.Sprintf("pod=web-%d", pod), "container=jvm")
		put := func(stream string, number int, at time.Time, text []byte) {
			dir := filepath.Join(container, "stream="+stream, "date="+at.Format("2006-01-02"))
			must(b, os.MkdirAll(dir, 0o755))
			must(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%06d.log", at.Format("20060102T150405.000Z"), number)), text, 0o644))
		}
		number := 0
		for at := day; at.Before(day.Add(24 * time.Hour)); at = at.Add(pause.FiguresTime) {
			number++
			put(mark.Stream, number, at.Add(pause.FiguresTime), figuresOf(rng, at))
			put(stream, number, at, []byte("x"))
		}
	}
	for b.Loop() {
		page := filepath.Join(b.TempDir(), "page.html")
		cmd := exec.Command(lab.Binary(), "report", "--compare", "--output", page, g.url("", ""))
		cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=ullage", "AWS_SECRET_ACCESS_KEY="+g.secret)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		info, err := os.Stat(page)
		must(b, err)
		b.ReportMetric(float64(info.Size())/(1<<20), "MiB-page")
		b.ReportMetric(float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)/(1<<10), "MiB-peak")
		b.ReportMetric((cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), "CPU-s")
	}
}

// figuresOf returns a mark of ten minutes with 600 stops.
func figuresOf(rng *rand.Rand, since time.Time) []byte {
	f := pause.Figures{Since: since, Until: since.Add(pause.FiguresTime), Span: pause.FiguresTime, Heap: 300 << 20, Allocated: 30 << 30, Allocating: pause.FiguresTime}
	for range 600 {
		d := time.Duration(float64(5*time.Millisecond) * math.Exp(rng.NormFloat64()/2))
		f.Stops.Add(d)
		f.Stopped += d
		f.Longest = max(f.Longest, d)
	}
	m := mark.New(mark.JVMFigures, append([]string{"stream", stream}, f.Fields()...)...)
	m.Time = f.Until
	return m.Append(nil)
}
