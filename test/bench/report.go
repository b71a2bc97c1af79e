package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/ullage/ullage/test/lab"
)

// report reads the log of a day: 2 GiB in which each line is about a pause, and 10 GiB at
// level debug. The files are on the disk, and mostly in the page cache.
func report(b *bench) error {
	for _, c := range []struct {
		name   string
		size   int64
		phases int // lines of phases in each collection
	}{{"info, 2 GiB", 2 * gib, 0}, {"debug, 10 GiB", 10 * gib, 30}} {
		file, page := filepath.Join(b.dest, "gc.log"), filepath.Join(b.dest, "report.html")
		if err := lab.WriteDay(file, c.size, c.phases); err != nil {
			return err
		}
		cmd := exec.CommandContext(b.ctx, b.ullage, "report", "--output", page, file)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("ullage report: %w\n%s", err, out)
		}
		stat, err := os.Stat(page)
		if err != nil {
			return err
		}
		used := cmd.ProcessState
		speed, rss := float64(c.size)/1e6/cpu(used), float64(used.SysUsage().(*syscall.Rusage).Maxrss)/1024
		b.add("report, "+c.name+": MB a CPU second", fmt.Sprintf("%.0f", speed), "300", speed >= 300)
		b.add("report, "+c.name+": peak resident MiB", fmt.Sprintf("%.1f", rss), "64", rss <= 64)
		b.add("report, "+c.name+": page", fmt.Sprintf("%d KiB", stat.Size()>>10), "2 MiB", stat.Size() <= 2<<20)
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}
