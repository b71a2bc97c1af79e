package powercut

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/read/check"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ship"
	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/stdout"
	"github.com/ullage/ullage/test/lab"
)

// stream is the name of the stream whose lines are accounted for.
const stream = "gc.log"

// machine is the node after a power cut: its tmpfs is empty, and its disk is in one of the states.
type machine struct {
	dir    string
	cfg    ship.Config
	sinks  sink.Config
	log    *bytes.Buffer // log of the last sidecar
	copied *bytes.Buffer // lines that its sink got
}

func newMachine(dir string, compress segment.Compression, sinks ...string) *machine {
	cfg := ship.DefaultConfig()
	cfg.Tail.Source, cfg.Dest = filepath.Join(dir, "source"), filepath.Join(dir, "dest")
	cfg.Budget, cfg.Queue = 64*settings.Mi, 256*settings.Ki
	cfg.Segment.Compress = compress
	cfg.Segment.RetainBytes, cfg.Segment.RetainAge = 0, 0
	return &machine{dir: dir, cfg: cfg, sinks: sink.Config{URLs: sinks}}
}

// put creates the state of the disk.
func (m *machine) put(s state) error {
	for _, dir := range []string{m.cfg.Tail.Source, m.cfg.Dest} {
		if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o750)); err != nil {
			return err
		}
	}
	for _, dir := range s.dirs {
		if err := os.Mkdir(filepath.Join(m.cfg.Dest, dir), 0o750); err != nil {
			return err
		}
	}
	for name, f := range s.files {
		at := filepath.Join(m.cfg.Dest, name)
		if err := os.WriteFile(at, f.data, 0o640); err != nil {
			return err
		}
		if f.attr == "" {
			continue
		}
		if err := unix.Setxattr(at, segment.FollowsAttr, []byte(f.attr), 0); err != nil && !errors.Is(err, unix.ENOTSUP) {
			return err
		}
	}
	return nil
}

// errLeft means that a sidecar did not wait for its writer, because the destination was slow at the end. A real
// process would exit at this point.
var errLeft = errors.New("the sidecar has not closed the destination")

// ship ships the lines of a JVM until all of them are durable and the sinks have them.
func (m *machine) ship(lines []byte) error {
	m.log, m.copied = new(bytes.Buffer), new(bytes.Buffer)
	if err := os.WriteFile(filepath.Join(m.cfg.Tail.Source, stream), lines, 0o640); err != nil {
		return err
	}
	log, reg := slog.New(slog.NewTextHandler(m.log, nil)), prometheus.NewRegistry()
	sinks, err := sink.New(m.sinks, map[string]sink.Kind{"stdout": stdout.Kind(m.copied)}, m.cfg.Dest, reg, log)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	shipped, allShipped := context.WithCancel(context.Background())
	late, stop := context.WithTimeout(context.Background(), lab.Patience)
	defer stop()
	var feed errgroup.Group
	feed.Go(func() error { return sinks.Run(shipped, late) })
	err = ship.New(m.cfg, reg, log).Run(ctx, ship.Outlets{CaughtUp: cancel, Followers: ship.Followers{OnCommit: sinks.Committed}})
	allShipped()
	if err := errors.Join(err, feed.Wait()); err != nil {
		return fmt.Errorf("the sidecar failed: %w", err)
	}
	if !bytes.Contains(m.log.Bytes(), []byte("msg=drained")) {
		return errLeft
	}
	return nil
}

// read returns the text of the stream, with zeros for holes, and the number of its lines. Apart from holes, the
// segments must be intact.
func (m *machine) read() (text []byte, lines int, err error) {
	infos, err := segment.List(filepath.Join(m.cfg.Dest, stream))
	if err != nil {
		return nil, 0, err
	}
	for _, info := range infos {
		if text, err = appendSegment(text, info.Path); err != nil {
			return nil, 0, err
		}
	}
	for part := range bytes.SplitSeq(text, []byte{0}) {
		lines += bytes.Count(part, []byte("\n"))
		if len(part) > 0 && part[len(part)-1] != '\n' {
			lines++ // a hole replaces the end of the line
		}
	}
	return text, lines, nil
}

func appendSegment(text []byte, path string) ([]byte, error) {
	r, err := segment.OpenReader(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		raw, err := r.Next()
		var hole *segment.CorruptionError
		switch {
		case errors.Is(err, io.EOF):
			return text, nil
		case errors.As(err, &hole) && filepath.Ext(path) == ".log":
			from, to, err := r.Resync()
			if err != nil {
				return nil, err
			}
			text = append(text, make([]byte, to-from)...)
		case err != nil:
			return nil, err
		case bytes.IndexByte(raw, 0) >= 0:
			return nil, fmt.Errorf("%s: intact text has zero bytes", path)
		}
		text = append(text, raw...)
	}
}

// check returns the result of `ullage check` for the stream.
func (m *machine) check() (check.Total, check.Stream, error) {
	cfg := check.Config{Stream: stream}
	names, err := cfg.Names(m.cfg.Dest)
	if err != nil {
		return check.Total{}, check.Stream{}, fmt.Errorf("check: %w", err)
	}
	var said checked
	total, err := check.Streams(context.Background(), m.cfg.Dest, names, cfg, &said)
	return total, said.stream, err
}
