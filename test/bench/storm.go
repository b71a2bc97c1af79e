package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// storm writes as a JVM does that rotates all the time: files of 1 MiB, five
// archives, at 10 and at 50 MB/s. An archive is overwritten 0.1 s after it was
// written at the latter.
func (b *bench) storm() error {
	for _, rate := range []int{10, 50} {
		if err := b.rotate(rate); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) rotate(megabytes int) error {
	source, dest := b.path("source"), filepath.Join(b.dest, "storm")
	for _, dir := range []string{source, dest} {
		if err := empty(dir); err != nil {
			return err
		}
	}
	s, err := b.start(source, dest)
	if err != nil {
		return err
	}
	const lineBytes = 170 // of the lab's lines, on average
	w := lab.NewWriter(lab.Output{Path: filepath.Join(source, "gc.log"), Seed: 1, Rate: megabytes * 1e6 / lineBytes, Files: 5, FileBytes: 1 << 20})
	ctx, cancel := context.WithTimeout(b.ctx, steadyFor)
	defer cancel()
	started := time.Now()
	if err := w.Run(ctx); err != nil {
		return err
	}
	took := time.Since(started).Seconds()
	if err := s.stop(); err != nil {
		return err
	}
	balance, err := lab.Check(dest, "gc.log", w)
	if err != nil {
		return err
	}
	b.add(fmt.Sprintf("rotation storm at %.0f MB/s: lost, twice of %.1f million lines", float64(w.Bytes())/1e6/took, float64(balance.Written)/1e6),
		fmt.Sprintf("%d, %d", balance.Lost, balance.Twice), "0, 0", balance.Exact())
	return nil
}
