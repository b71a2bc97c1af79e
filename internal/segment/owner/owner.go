// Package owner asks the sidecar that writes to a destination which lines are not in the
// durable copy yet. A reader of a copy cannot see that: while a disk stalls, lines wait on the
// tmpfs, and so does the marker of lines that were dropped in the meantime.
//
//	Of → Destination.Lacks → Lack
//
// # Whom to ask
//
// The reader knows only the directory of the copy. The sidecar answers at an address that is
// derived from the directory's identity (see [Address]), so neither a port nor the disk is
// involved. The answer must come from the process that holds the destination's lock according to
// the lock file. That cannot be checked if no process holds the lock, or if its holder or the
// process that answers is not known to be in the reader's process namespace. Then the answer must
// come from a process of root, of the reader's user, or of the owner of the directory .ullage.
//
// If nothing answers, the lock decides: the kernel releases the lock when its holder dies, so
// leftovers of a dead process have no effect. A holder that does not answer, because it runs in
// another pod or is stopped, may have lines that the copy does not show.
//
// # When
//
// A sidecar always has some lines that it has just read. So Lacks waits until the sidecar has
// persisted the lines that were on the source when Lacks was called. It waits for a few seconds
// at most, and not at all if the destination fails. A reader that begins after that finds
// everything up to the call, or knows how much is missing.
package owner

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/segment"
)

const (
	patience    = 5 * time.Second // how long Lacks waits for lines on the source to become durable
	pollEvery   = 100 * time.Millisecond
	askPatience = 3 * time.Second // how long a request waits for its answer
	writing     = time.Second     // how long after its date a line may be written: the thread may get no processor
)

// Destination is a directory that a sidecar persists into.
type Destination struct{ dir string }

// Of returns the destination to which a directory belongs: the directory itself or, if it is
// the directory of a stream, the directory above it. stream is the name of that stream, or
// empty. Of returns false for any other directory, such as a copy of some segments.
func Of(dir string) (d Destination, stream string, ok bool) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Destination{}, "", false
	}
	if isDestination(abs) {
		return Destination{abs}, "", true
	}
	if above := filepath.Dir(abs); isDestination(above) {
		return Destination{above}, filepath.Base(abs), true
	}
	return Destination{}, "", false
}

// Dir returns the directory, as an absolute path.
func (d Destination) Dir() string { return d.dir }

func isDestination(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, segment.OwnDir))
	return err == nil && info.IsDir()
}

// Address returns the address in the abstract namespace of Unix sockets at which the
// sidecar that persists into the directory dir answers, in the same network namespace: in
// the same pod, for example. The address consists of the directory's device and inode, so
// it is the same through every mount, and the destinations of sidecars that share a network
// have different addresses. The kernel removes it with the process, and it needs no disk.
func Address(dir string) (string, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return "", fmt.Errorf("identify the destination: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() {
		return "", fmt.Errorf("identify the destination: %s is not a directory", dir)
	}
	return fmt.Sprintf("@ullage/%x/%d", uint64(st.Dev), st.Ino), nil
}

// Lack describes what the copy lacks. Nil: the copy is not known to lack anything.
type Lack struct {
	Bytes        int64  `json:"bytes"`
	DroppedLines int64  `json:"droppedLines"`
	Reason       string `json:"reason,omitempty"` // why the sidecar is not ready; empty: it is ready

	// Unasked says why the owner of the destination could not be asked. Empty: it was asked.
	Unasked string `json:"unasked,omitempty"`
}

// String returns the rest of a sentence whose beginning says how much of the copy was read.
func (l Lack) String() string {
	if l.Unasked != "" {
		return "a sidecar owns the destination but cannot be asked what is not in the copy yet: " + printable.Line(l.Unasked)
	}
	text := fmt.Sprintf("a running sidecar holds %s (%d lines dropped) that are not in the copy yet", printable.Bytes(l.Bytes), l.DroppedLines)
	if l.Reason != "" {
		text += ": " + printable.Line(l.Reason)
	}
	return text
}

// Lacks returns what the copy lacks of the wanted streams up to a time; the zero time means
// now. If a time is given, it waits for lines that the JVM has dated before that time and not
// written yet. The error is that of ctx.
func (d Destination) Lacks(ctx context.Context, wants func(stream string) bool, until time.Time) (*Lack, error) {
	now := time.Now()
	settled := now // when all lines up to that time are on the source
	switch {
	case until.IsZero():
		until = now
	case until.After(now):
		until, settled = now, now.Add(writing)
	default:
		settled = until.Add(writing)
	}
	for deadline := now.Add(patience); ; {
		st, asked, err := d.Status(ctx)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return &Lack{Unasked: err.Error()}, nil
		}
		if !asked {
			return nil, nil
		}
		late, seen := lackOf(st, wants, settled)
		if seen && (late == nil || !st.Ready) || time.Now().After(deadline) {
			lack, _ := lackOf(st, wants, until)
			return lack, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

// lackOf returns what the copy lacks of the wanted streams up to a time, according to a status.
// seen is false if the result is not final: no line is known to be lacking, but the sidecar has
// not looked at its source since that time.
func lackOf(st admin.Status, wants func(string) bool, until time.Time) (lack *Lack, seen bool) {
	l, late := Lack{}, false
	count := func(u admin.Unpersisted) {
		if !u.Since.IsZero() && !u.Since.After(until) {
			late = true
			l.Bytes += u.Bytes
			l.DroppedLines += u.DroppedLines
		}
	}
	if wants == nil {
		count(st.Unpersisted)
	} else {
		for _, s := range st.Streams {
			if wants(s.Name) {
				count(s.Unpersisted)
			}
		}
	}
	if st.SeenAt.IsZero() {
		return &Lack{Unasked: "it has not opened its source yet"}, false
	}
	if !late {
		return nil, !st.SeenAt.Before(until)
	}
	if !st.Ready {
		l.Reason = st.Reason
	}
	return &l, true
}

// Status returns the status of the sidecar that owns the destination. asked is false if no
// sidecar owns it.
func (d Destination) Status(ctx context.Context) (st admin.Status, asked bool, err error) {
	c, unanswered, err := d.client()
	if err != nil {
		return st, false, err
	}
	_, st, err = c.Status(ctx)
	switch {
	case err == nil:
		return st, true, nil
	case !errors.Is(err, admin.ErrUnreachable) && ctx.Err() == nil:
		return st, false, err
	}
	return st, false, unanswered()
}

// Recent returns the last events that the sidecar of the destination reports, as JSON.
func (d Destination) Recent(ctx context.Context) ([]byte, error) {
	c, _, err := d.client()
	if err != nil {
		return nil, err
	}
	return c.Recent(ctx)
}

// client returns a client for the sidecar. If nothing answers, unanswered returns an error if a
// sidecar owns the destination, or may own it.
func (d Destination) client() (c admin.Client, unanswered func() error, err error) {
	addr, err := Address(d.dir)
	if err != nil {
		return c, nil, err
	}
	holder, owned, lockErr := segment.OwnerOf(d.dir)
	c = admin.Client{Addr: addr, Timeout: askPatience, Check: func(conn net.Conn) error { return d.genuine(conn, holder, owned) }}
	return c, func() error {
		if lockErr == nil && owned {
			return fmt.Errorf("the owner is %s, which does not answer in this network namespace", holder)
		}
		return lockErr
	}, nil
}

// genuine fails unless the peer can be the owner of the destination.
func (d Destination) genuine(conn net.Conn, holder segment.Owner, owned bool) error {
	peer, err := peerOf(conn)
	if err != nil {
		return fmt.Errorf("identify the process that answers: %w", err)
	}
	if owned && holder.Here() && peer.Pid > 0 {
		if int(peer.Pid) != holder.PID {
			return fmt.Errorf("process %d answers at the destination's address, but %s holds the lock", peer.Pid, holder)
		}
		return nil
	}
	info, err := os.Lstat(filepath.Join(d.dir, segment.OwnDir))
	if err != nil {
		return fmt.Errorf("find the owner of the destination: %w", err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && peer.Uid != 0 && peer.Uid != st.Uid && int(peer.Uid) != os.Geteuid() {
		return fmt.Errorf("a process of user %d answers for it", peer.Uid)
	}
	return nil
}

// peerOf returns the process at the other end of a connection, according to the kernel.
func peerOf(conn net.Conn) (*unix.Ucred, error) {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.New("it is not a local connection")
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	var peer *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	return peer, errors.Join(err, failed)
}
