package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// sequences counts the events of Apps.java.
type sequences struct{ all, severe float64 }

func (q *sequences) read(r io.Reader) error {
	for in := bufio.NewReaderSize(r, 1<<20); ; {
		line, err := in.ReadBytes('\n')
		if at := bytes.Index(line, []byte("SEQ ")); at >= 0 && at+4 < len(line) && line[len(line)-1] == '\n' {
			q.all++
			if level := line[at+4]; level == 'E' || level == 'W' {
				q.severe++
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (q *sequences) readFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return q.read(f)
}

// readAll counts the events in all streams that a sidecar has persisted.
func (q *sequences) readAll(ctx context.Context, ullage, dest string) error {
	cmd := exec.CommandContext(ctx, ullage, "logs", dest)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = q.read(out)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return fmt.Errorf("read what was persisted: %w", err)
	}
	return nil
}
