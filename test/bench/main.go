// Command bench measures what `ullage run` costs, against the limits that the
// project has set itself, in one run on one machine: absolute times drift from
// machine to machine, ratios hold.
//
// It needs a JDK (17 or newer), 3 GiB on a tmpfs at /dev/shm, 12 GiB in the
// directory of --dest, and root for the part with a tmpfs of 16 MiB and for an idle
// sidecar that sees no other process. It takes about fifteen minutes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// bench is one run of the benchmarks.
type bench struct {
	ctx    context.Context
	ullage string // the binary
	shm    string // a directory on tmpfs
	dest   string // a directory on a disk
	rounds int
	rows   []row
}

// row is one figure and its limit.
type row struct{ what, measured, limit, verdict string }

// add prints a figure and keeps it for the table.
func (b *bench) add(what, measured, limit string, ok bool) {
	verdict := "reached"
	if !ok {
		verdict = "MISSED"
	}
	if limit == "" {
		verdict = ""
	}
	b.rows = append(b.rows, row{what, measured, limit, verdict})
	fmt.Printf("  %s: %s\n", what, measured)
}

var parts = []struct {
	name string
	run  func(*bench) error
}{
	{"catchup", (*bench).catchUp},
	{"hotpath", (*bench).hotPath},
	{"idle", (*bench).idle},
	{"steady", (*bench).steady},
	{"latency", (*bench).latency},
	{"levels", (*bench).levels},
	{"storm", (*bench).storm},
	{"tmpfs", (*bench).smallTmpfs},
	{"minute", (*bench).minute},
	{"report", report},
}

func main() {
	only := flag.String("only", "", "run only this `PART`: catchup, hotpath, idle, steady, latency, levels, storm, tmpfs, minute, report")
	ullage := flag.String("ullage", "bin/ullage", "the `PROGRAM` to measure")
	dest := flag.String("dest", os.TempDir(), "`DIR` on the disk that is measured")
	rounds := flag.Int("rounds", 5, "catch-up `ROUNDS`, of which the median counts")
	profile := flag.String("profile", "", "measure nothing, and write a CPU profile of the catch-up to this `FILE`, for the compiler")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	b := &bench{ctx: ctx, ullage: *ullage, rounds: *rounds}
	if err := b.run(*only, *dest, *profile); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (b *bench) run(only, dest, profile string) error {
	if _, err := os.Stat(b.ullage); err != nil {
		return fmt.Errorf("find the program to measure (make build makes it): %w", err)
	}
	var err error
	if b.shm, err = os.MkdirTemp("/dev/shm", "ullage-bench-"); err != nil {
		return fmt.Errorf("make a directory on tmpfs: %w", err)
	}
	defer os.RemoveAll(b.shm)
	if b.dest, err = os.MkdirTemp(dest, "ullage-bench-"); err != nil {
		return fmt.Errorf("make a directory on the disk: %w", err)
	}
	defer os.RemoveAll(b.dest)
	if profile != "" {
		return b.writeProfile(profile)
	}
	for _, p := range parts {
		if only != "" && only != p.name {
			continue
		}
		fmt.Printf("%s\n", p.name)
		started := time.Now()
		if err := p.run(b); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Printf("  (%s)\n", time.Since(started).Round(time.Second))
	}
	b.table()
	return nil
}

func (b *bench) table() {
	fmt.Println()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FIGURE\tMEASURED\tLIMIT\t")
	for _, r := range b.rows {
		fmt.Fprintln(w, strings.Join([]string{r.what, r.measured, r.limit, r.verdict}, "\t"))
	}
	w.Flush()
}
