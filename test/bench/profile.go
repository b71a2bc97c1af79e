package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"runtime/pprof"

	"github.com/ullage/ullage/internal/base/build"
	logs "github.com/ullage/ullage/internal/read/report"
	product "github.com/ullage/ullage/internal/sidecar"
)

// writeProfile writes a CPU profile of the sidecar while it catches up with 1 GiB of real UL,
// and of a report on that, in each round once. The compiler reads such a profile from cmd/ullage/default.pgo, and spends
// its inlining where the time goes.
func (b *bench) writeProfile(path string) error {
	data := b.path("data")
	if err := b.makeUL(data); err != nil {
		return err
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	debug.SetGCPercent(25) // as `ullage run` does
	if err := pprof.StartCPUProfile(out); err != nil {
		return fmt.Errorf("start the profile: %w", err)
	}
	for round := range b.rounds {
		fmt.Printf("  round %d of %d\n", round+1, b.rounds)
		err := b.drain(data)
		if err == nil {
			_, err = logs.Read(b.ctx, []string{data}, logs.Config{})
		}
		if err != nil {
			pprof.StopCPUProfile()
			return err
		}
	}
	pprof.StopCPUProfile()
	return out.Close()
}

// drain runs the sidecar in this process, until all data is persisted.
func (b *bench) drain(data string) error {
	source, dest := b.path("source"), filepath.Join(b.dest, "durable")
	if err := empty(source); err != nil {
		return err
	}
	if err := empty(dest); err != nil {
		return err
	}
	defer os.RemoveAll(dest)
	if err := exec.CommandContext(b.ctx, "cp", data, filepath.Join(source, "gc.log")).Run(); err != nil {
		return fmt.Errorf("fill the source: %w", err)
	}
	cfg := product.DefaultConfig()
	cfg.Ship.Tail.Source, cfg.Ship.Dest, cfg.Admin.Listen = source, dest, "127.0.0.1:0"
	ctx, cancel := context.WithCancel(b.ctx)
	cancel() // a sidecar that is to end ships all that is there
	return product.Run(ctx, cfg, build.Info{}, nil, slog.New(slog.DiscardHandler))
}
