package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestConfigurationOfEveryPeer starts a script in place of each peer and checks the configuration that the peer would
// get.
func TestConfigurationOfEveryPeer(t *testing.T) {
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			bin := t.TempDir()
			script := "#!/bin/sh\nfor a; do case $a in *" + p.config + ") cat \"$a\" >\"${a%/*}/given\" ;; esac; done\n"
			if p.program == "" {
				t.Skip("it is always built, never found on the PATH")
			}
			if err := os.WriteFile(filepath.Join(bin, p.program), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			e := &evidence{ctx: t.Context(), shm: t.TempDir(), disk: t.TempDir()}
			c, missing, err := e.contestant(p, "")
			if err != nil || c == nil {
				t.Fatalf("got %v, %q, %v; want a contestant", c, missing, err)
			}
			at, err := e.place(c, "")
			if err != nil {
				t.Fatal(err)
			}
			s, err := c.start(e.ctx, at)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Wait(10 * time.Second); err != nil {
				t.Fatal(err)
			}
			given, err := os.ReadFile(filepath.Join(at.state, "given"))
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{at.source, at.dest} {
				if !strings.Contains(string(given), want) {
					t.Errorf("no %s in:\n%s", want, given)
				}
			}
			if strings.Contains(string(given), "{{") || strings.Contains(string(given), "<no value>") {
				t.Errorf("the template was not filled:\n%s", given)
			}
		})
	}
}

// TestAbsentPeer checks that it is not an error if the machine lacks a peer.
func TestAbsentPeer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	c, missing, err := (&evidence{ctx: t.Context()}).contestant(peers[0], t.TempDir())
	if c != nil || missing == "" || err != nil {
		t.Fatalf("got %v, %q, %v; want no contestant, a reason and no error", c, missing, err)
	}
}

// TestSlopes checks units, a least-squares slope, and the slope between the ends of a table.
func TestSlopes(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{{2, "2 s"}, {0.5, "500 ms"}, {1.25e-6, "1.25 µs"}, {-0.002, "-2 ms"}, {3e-12, "0.003 ns"}, {0, "0 ns"}} {
		if got := amount(c.v, "s", 1e3, "ms", "µs", "ns"); got != c.want {
			t.Errorf("%g: %q, want %q", c.v, got, c.want)
		}
	}
	if got := leastSquares([]float64{1, 2, 3, 4}, []float64{5, 7, 9, 11}); got != 2 {
		t.Errorf("the slope is %g, want 2", got)
	}
	if got := leastSquares([]float64{1}, []float64{5}); got != 0 {
		t.Errorf("one sample has the slope %g, want 0", got)
	}
	x := &experiment{}
	x.add("1", figures{"cpu": 1})
	x.add("11", figures{"cpu": 6})
	if got := x.slope("cpu", 10); got != 0.5 {
		t.Errorf("the slope of the table is %g, want 0.5", got)
	}
	for n, want := range map[int]string{7: "7", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

// TestAgesOfLines checks the ages of the lines in a growing output.
func TestAgesOfLines(t *testing.T) {
	p := place{dest: t.TempDir()}
	f, err := os.Create(filepath.Join(p.dest, "out.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	written, done, ages := make(chan struct{}), make(chan struct{}), make(chan []float64)
	fed := make(chan error, 1)
	go func() {
		_, err := feed(f, 1000, usualLine, written)
		fed <- err
	}()
	go func() { ages <- (&contestant{}).follow(p, done) }()
	for p.size() < 10_000 {
		time.Sleep(time.Millisecond)
	}
	close(written)
	if err := <-fed; err != nil {
		t.Fatal(err)
	}
	close(done)
	all := <-ages
	if len(all) < 10_000/140 {
		t.Errorf("%d lines were seen, want at least %d", len(all), 10_000/140)
	}
	for _, ms := range all {
		if ms < 0 || ms > 60_000 {
			t.Fatalf("a line is %f ms old, want at least 0 and at most 60,000", ms)
		}
	}
}
