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
	"github.com/ullage/ullage/test/lab"
)

// writeProfile writes one CPU profile of all rounds. In each round, the sidecar catches up with a real JVM's log, and a
// report reads that log and a log that has nothing but pauses. The compiler reads such a profile from
// cmd/ullage/default.pgo and inlines the calls that take the most time.
func writeProfile(e *evidence, path string) error {
	data := filepath.Join(e.shm, "data")
	if err := e.makeLog(data); err != nil {
		return err
	}
	pauses := filepath.Join(e.shm, "pauses")
	if err := lab.WriteDay(pauses, int64(e.size)<<18, 0); err != nil {
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
	for round := range e.rounds {
		fmt.Printf("  round %d of %d\n", round+1, e.rounds)
		err := drainHere(e, data)
		if err == nil {
			_, err = logs.Read(e.ctx, []string{data, pauses}, logs.Config{})
		}
		if err != nil {
			pprof.StopCPUProfile()
			return err
		}
	}
	pprof.StopCPUProfile()
	return out.Close()
}

// drainHere runs the sidecar in this process, until all data is persisted.
func drainHere(e *evidence, data string) error {
	p, err := e.place(&contestant{name: "profiled"}, "")
	if err != nil {
		return err
	}
	defer p.remove()
	if err := exec.CommandContext(e.ctx, "cp", data, p.log()).Run(); err != nil {
		return fmt.Errorf("fill the source: %w", err)
	}
	cfg := product.DefaultConfig()
	cfg.Ship.Tail.Source, cfg.Ship.Dest, cfg.Admin.Listen = p.source, p.dest, "127.0.0.1:0"
	ctx, cancel := context.WithCancel(e.ctx)
	cancel() // even a sidecar that is stopped at once ships everything before it ends
	return product.Run(ctx, cfg, build.Info{}, nil, slog.New(slog.DiscardHandler))
}
