package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// vital is a figure of a sidecar that must not grow.
type vital struct {
	name string
	read func(s *shipper, p place) (float64, error)
}

var vitals = []vital{
	{"memory, MiB", func(s *shipper, _ place) (float64, error) { return memory(s.PID()), nil }},
	{"descriptors", func(s *shipper, _ place) (float64, error) { return entries(fmt.Sprintf("/proc/%d/fd", s.PID())) }},
	{"threads", func(s *shipper, _ place) (float64, error) { return entries(fmt.Sprintf("/proc/%d/task", s.PID())) }},
	{"goroutines", func(s *shipper, _ place) (float64, error) { return s.Metric("go_goroutines") }},
	{"segments", func(_ *shipper, p place) (float64, error) {
		segments, err := lab.Segments(p.dest, "gc.log")
		return float64(len(segments)), err
	}},
	{"bytes of the sidecar's own files on the tmpfs", func(_ *shipper, p place) (float64, error) {
		return float64(place{dest: filepath.Join(p.source, ".ullage")}.size()), nil
	}},
	{"KiB of the source", func(_ *shipper, p place) (float64, error) { return float64(lab.InUse(p.source)) / 1024, nil }},
}

func entries(dir string) (float64, error) {
	all, err := os.ReadDir(dir)
	return float64(len(all)), err
}

// soaking has the samples of all vitals.
type soaking struct {
	at     []float64   // hours
	values [][]float64 // the values of each vital
}

func (k *soaking) sample(s *shipper, p place, started time.Time) error {
	if k.values == nil {
		k.values = make([][]float64, len(vitals))
	}
	k.at = append(k.at, time.Since(started).Hours())
	for i, v := range vitals {
		value, err := v.read(s, p)
		if err != nil {
			return fmt.Errorf("read %s: %w", v.name, err)
		}
		k.values[i] = append(k.values[i], value)
	}
	return nil
}

// soak runs a sidecar for a long time and looks for growth.
func soak(e *evidence) (*experiment, error) {
	flags := []string{"--segment-bytes", "256Ki", "--retain-bytes", "4Mi", "--sync-interval", "100ms"}
	c := e.sidecar("ullage, zstd", "zstd", flags...)
	p, err := e.place(c, "")
	if err != nil {
		return nil, err
	}
	defer p.remove()
	s, err := c.start(e.ctx, p)
	if err != nil {
		return nil, err
	}
	defer s.Kill()
	w := lab.NewWriter(lab.Output{Path: p.log(), Seed: 4, Rate: linesASec, Files: 5, FileBytes: 1 << 20})
	ctx, cancel := context.WithTimeout(e.ctx, e.soaked)
	defer cancel()
	wrote := make(chan error, 1)
	go func() { wrote <- w.Run(ctx) }()
	var k soaking
	started := time.Now()
	for ctx.Err() == nil {
		time.Sleep(e.soaked / 40)
		if time.Since(started) > e.soaked/4 { // by then, everything that a sidecar fills after its start is full
			if err := k.sample(s, p, started); err != nil {
				return nil, err
			}
		}
	}
	if err := <-wrote; err != nil {
		return nil, err
	}
	sealed, err := lastSegment(p)
	if err != nil {
		return nil, err
	}
	if err := s.Stop(time.Minute); err != nil {
		return nil, err
	}
	return k.experiment(e.soaked, sealed, int(w.Bytes()>>20), flags), nil
}

// lastSegment returns the number of the newest segment.
func lastSegment(p place) (int, error) {
	all, err := lab.Segments(p.dest, "gc.log")
	if err != nil || len(all) == 0 {
		return 0, fmt.Errorf("find the newest segment: %w", err)
	}
	name, _, _ := strings.Cut(filepath.Base(all[len(all)-1]), ".log")
	return strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
}

func (k *soaking) experiment(d time.Duration, sealed, rotations int, flags []string) *experiment {
	x := &experiment{
		Name: "soak", Title: "Growth: days of uptime",
		Question: "Does anything grow while the sidecar runs?",
		Method: fmt.Sprintf("A writer logs 20,000 lines/s into files of 1 MiB with five archives for %s, and `%s` makes the sidecar seal, delete and commit more often than it does otherwise: "+
			"it follows %s rotations and seals %s segments, as many as in %s days with a segment an hour. Samples begin after a quarter of the time.",
			d, strings.Join(flags, " "), grouped(rotations), grouped(sealed), figure(float64(sealed)/24)),
		Threat:  "Growth that depends on time rather than on work is seen only for the duration of the run; `make soak` takes 20 minutes.",
		Columns: []column{{"first", "first"}, {"last", "last"}, {"largest", "largest"}, {"slope", "slope over the run"}},
	}
	for i, v := range vitals {
		values := k.values[i]
		f := figures{"first": values[0], "last": values[len(values)-1], "slope": math.Round(1000*leastSquares(k.at, values)*(k.at[len(k.at)-1]-k.at[0])) / 1000}
		for _, value := range values {
			f["largest"] = max(f["largest"], value)
		}
		x.add(v.name, f)
	}
	return x
}

// leastSquares returns the slope of the least-squares line.
func leastSquares(x, y []float64) float64 {
	n, sx, sy, sxx, sxy := float64(len(x)), 0.0, 0.0, 0.0, 0.0
	for i := range x {
		sx, sy, sxx, sxy = sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	if d := n*sxx - sx*sx; d > 0 {
		return (n*sxy - sx*sy) / d
	}
	return 0
}
