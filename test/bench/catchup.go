package main

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/segment/store"
	"github.com/ullage/ullage/test/lab"
)

const gib = 1 << 30

// catchUp ships 1 GiB of real UL that is there already, and compares with what
// the same bytes cost otherwise.
func (b *bench) catchUp() error {
	data := b.path("data")
	if err := b.makeUL(data); err != nil {
		return err
	}
	figures := map[string][]float64{}
	keep := func(name string, values ...float64) {
		for i, v := range values {
			figures[fmt.Sprint(name, i)] = append(figures[fmt.Sprint(name, i)], v)
		}
	}
	for round := range b.rounds {
		fmt.Printf("  round %d of %d\n", round+1, b.rounds)
		cat, _, err := b.copyBytes("cat %s > %s", data)
		if err != nil {
			return err
		}
		_, dd, err := b.copyBytes("dd if=%s of=%s bs=256k conv=fsync status=none", data)
		if err != nil {
			return err
		}
		keep("limit", cat, dd)
		for _, compress := range []string{"none", "zstd"} {
			cpu, wall, rss, err := b.ship(data, compress)
			if err != nil {
				return err
			}
			keep(compress, cpu, wall, rss)
		}
		cpu, wall, rss, err := b.ship(data, "zstd", "--jvm-metrics=false")
		if err != nil {
			return err
		}
		keep("bare", cpu, wall, rss)
		encoder, err := b.encodeFromMemory(data)
		if err != nil {
			return err
		}
		keep("encoder", encoder)
	}
	m := func(name string) float64 { return median(figures[name]) }
	b.add("cat, CPU s/GiB", fmt.Sprintf("%.2f (%s)", m("limit0"), seconds(figures["limit0"])), "", true)
	b.add("dd bs=256k conv=fsync, wall s/GiB", fmt.Sprintf("%.2f (%s)", m("limit1"), seconds(figures["limit1"])), "", true)
	b.ratio("catch-up, none: CPU", m("none0"), m("limit0"), 2.0, "cat")
	b.ratio("catch-up, none: wall", m("none1"), m("limit1"), 1.5, "dd")
	b.ratio("catch-up, zstd: CPU", m("zstd0"), m("encoder0"), 1.25, "the encoder fed from memory")
	b.ratio("catch-up, zstd: CPU with the metrics of the JVM", m("zstd0"), m("bare0"), 1.25, "without them")
	rss := max(m("none2"), m("zstd2"))
	b.add("catch-up: peak MiB of memory of its own", fmt.Sprintf("%.1f", rss), "24", rss <= 24)
	return nil
}

func (b *bench) ratio(what string, value, base, limit float64, of string) {
	b.add(what, fmt.Sprintf("%.2f s, %.2f x %s", value, value/base, of), fmt.Sprintf("%.2f x", limit), value/base <= limit)
}

// copyBytes runs a shell command that copies data to the disk.
func (b *bench) copyBytes(format, data string) (cpu, wall float64, err error) {
	dir := filepath.Join(b.dest, "copy")
	if err := empty(dir); err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	return b.command("sh", "-c", "exec "+fmt.Sprintf(format, data, filepath.Join(dir, "out")))
}

// ship lets the sidecar catch up with data, and drain.
func (b *bench) ship(data, compress string, flags ...string) (cpuSeconds, wall, rss float64, err error) {
	source, dest := b.path("source"), filepath.Join(b.dest, "durable")
	if err := empty(source); err != nil {
		return 0, 0, 0, err
	}
	if err := exec.Command("cp", data, filepath.Join(source, "gc.log")).Run(); err != nil {
		return 0, 0, 0, fmt.Errorf("fill the source: %w", err)
	}
	if err := empty(dest); err != nil {
		return 0, 0, 0, err
	}
	defer os.RemoveAll(dest)
	s, err := b.start(source, dest, append(flags, "--compress", compress)...)
	if err != nil {
		return 0, 0, 0, err
	}
	peak := make(chan float64)
	go func() { peak <- s.peakMemory() }()
	if err := s.stop(); err != nil {
		return 0, 0, 0, err
	}
	rss = <-peak
	wall = time.Since(s.started).Seconds()
	var size counter
	if err := lab.ReadStream(&size, dest, "gc.log"); err != nil || size != gib {
		return 0, 0, 0, fmt.Errorf("%d of %d bytes were persisted (%v)", size, gib, err)
	}
	return cpu(s.cmd.ProcessState), wall, rss, nil
}

// counter counts what is written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// encodeFromMemory compresses data as the sidecar does, in frames of the same
// size, from memory and into segments on tmpfs, and returns the CPU seconds.
func (b *bench) encodeFromMemory(data string) (float64, error) {
	raw, err := os.ReadFile(data)
	if err != nil {
		return 0, err
	}
	dest := b.path("encoded")
	defer os.RemoveAll(dest)
	cfg := store.DefaultConfig()
	cfg.RetainBytes = 100 * settings.Gi
	durable, err := store.Open(dest, cfg, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		return 0, err
	}
	defer durable.Close()
	stream := durable.Stream("gc.log")
	if _, _, err := stream.Recover(); err != nil {
		return 0, err
	}
	before := selfCPU()
	const frame = 512 << 10
	for len(raw) > 0 {
		n := min(len(raw), frame)
		if err := stream.Append(raw[:n]); err != nil {
			return 0, err
		}
		raw = raw[n:]
	}
	if _, err := stream.Sync(); err != nil {
		return 0, err
	}
	return selfCPU() - before, nil
}

func selfCPU() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// hotPath runs the Go benchmark of the reader.
func (b *bench) hotPath() error {
	out, err := exec.CommandContext(b.ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkReader$", "-benchtime", "10000000x", "./internal/ship").Output()
	if err != nil {
		return fmt.Errorf("run the benchmark: %w\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		var name string
		var n, bytes, allocs int
		var ns, mbs float64
		if _, err := fmt.Sscanf(line, "%s %d %f ns/op %f MB/s %d B/op %d allocs/op", &name, &n, &ns, &mbs, &bytes, &allocs); err == nil {
			b.add("tail + classify + queue, a line of 120 bytes", fmt.Sprintf("%.0f ns, %d allocations", ns, allocs), "75 ns, 0", ns <= 75 && allocs == 0)
			return nil
		}
	}
	return fmt.Errorf("no figure in:\n%s", out)
}
