package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ullage/ullage/test/lab"
)

func (a application) apply(by appender, t trial) (f figures, err error) {
	const seconds = 3
	v, runs, end, run := &volume{Volume: &lab.Volume{}}, seconds+t.freeze.Seconds(), "stop", logged
	switch {
	case t.freeze > 0:
		if v, err = a.newVolume(); err != nil {
			return nil, err
		}
		defer v.remove()
		run = func(cmd *exec.Cmd) (figures, error) {
			return loggedWhile(cmd, func() error {
				time.Sleep(time.Second)
				return v.frozen(func() { time.Sleep(t.freeze) })
			})
		}
	case t.kill:
		runs, end = 10*seconds, filepath.Join(a.shm, "counts")
		defer os.Remove(end)
		run = func(cmd *exec.Cmd) (figures, error) { return loggedUntilKilled(cmd, seconds*time.Second, end) }
	}
	return a.log(by, v.Dir, run, "Apps", strconv.Itoa(t.threads), fmt.Sprint(runs), strconv.Itoa(t.rate), end)
}

// log runs a program that logs with an appender. The output of the appender, or of its sidecar, is on the volume, or if
// volume is empty, on the disk. log compares the program's counts with the lines that are in the output at the end.
func (a application) log(by appender, volume string, run func(*exec.Cmd) (figures, error), program string, args ...string) (f figures, err error) {
	c := a.sidecar("application", "zstd")
	p, err := a.place(c, volume)
	if err != nil {
		return nil, err
	}
	defer p.remove()
	file := filepath.Join(p.dest, "app.log")
	var s *shipper
	if by.shipped {
		file = filepath.Join(p.source, "app.log")
		if s, err = c.start(a.ctx, p); err != nil {
			return nil, err
		}
		defer s.Kill()
	}
	if f, err = run(a.java(p, append([]string{program, by.spec, file}, args...)...)); err != nil {
		return nil, err
	}
	var found sequences
	if s == nil {
		err = found.readFile(file)
	} else if err = s.Stop(time.Minute); err == nil {
		f["side"] = cpu(s.cmd.ProcessState) * 1e9 / max(1, f["written"])
		err = found.readAll(a.ctx, a.ullage, p.dest)
	}
	// A killed thread may have logged an event that it had not counted yet.
	f["lost"] = max(0, f["written"]-found.all)
	f["severe"] = max(0, f["severe"]-found.severe)
	f["share"] = 100 * f["lost"] / max(1, f["written"])
	return f, err
}

// logged runs a JVM that logs, until the JVM ends.
func logged(cmd *exec.Cmd) (figures, error) {
	return loggedWhile(cmd, func() error { return nil })
}

// loggedWhile calls do once the JVM reports that it logs, then lets the JVM end.
func loggedWhile(cmd *exec.Cmd, do func() error) (figures, error) {
	out, err := begin(cmd)
	if err == nil {
		err = do()
	}
	if out == nil {
		return nil, err
	}
	text, readErr := io.ReadAll(out)
	if err := errors.Join(err, readErr, cmd.Wait()); err != nil {
		return nil, fmt.Errorf("run the JVM: %w", err)
	}
	return pairs(string(text))
}

// begin starts a JVM and waits until it reports that it logs. It returns the JVM's further output, or nil if the JVM
// did not start.
func begin(cmd *exec.Cmd) (*bufio.Reader, error) {
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	out := bufio.NewReader(pipe)
	_, err = out.ReadString('\n')
	return out, err
}

// loggedUntilKilled kills a JVM while it logs, then reads the counts that its threads have kept in a file.
func loggedUntilKilled(cmd *exec.Cmd, after time.Duration, counts string) (figures, error) {
	out, err := begin(cmd)
	if out == nil {
		return nil, err
	}
	began := time.Now()
	if err == nil {
		time.Sleep(after)
	}
	killed := cmd.Process.Kill() // fails if the JVM has ended by itself
	lasted := time.Since(began).Seconds()
	_ = cmd.Wait() // the error is the kill
	if err := errors.Join(err, killed); err != nil {
		return nil, fmt.Errorf("run the JVM until it is killed: %w", err)
	}
	text, err := os.ReadFile(counts)
	if err != nil {
		return nil, err
	}
	return threadCounts(text, lasted)
}

// threadCounts parses the counts that Apps.java keeps for each thread: all events, the severe events, and the
// longest call in nanoseconds.
func threadCounts(text []byte, seconds float64) (figures, error) {
	if len(text) == 0 || len(text)%24 != 0 {
		return nil, fmt.Errorf("the counts of the JVM's threads have %d bytes", len(text))
	}
	f := figures{"written": 0, "severe": 0, "longest": 0}
	for ; len(text) > 0; text = text[24:] {
		f["written"] += float64(binary.NativeEndian.Uint64(text))
		f["severe"] += float64(binary.NativeEndian.Uint64(text[8:]))
		f["longest"] = max(f["longest"], float64(binary.NativeEndian.Uint64(text[16:]))/1e6)
	}
	f["ops"] = f["written"] / seconds
	return f, nil
}
