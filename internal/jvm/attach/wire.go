package attach

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxReply is in bytes. A list of JDK 25 has fewer than ten thousand bytes. In the worst case,
	// a sidecar holds the replies of 16 forged JVMs, the most that Find returns, twice each.
	maxReply = 256 << 10

	// maxDump is in bytes: the stacks of some thousand threads, or the 40,000 classes with the most objects.
	maxDump = 4 << 20

	// badVersion is ATTACH_ERROR_BADVERSION in HotSpot's attachListener.hpp.
	badVersion = 101
)

// errClosed reports that the connection ended before the reply began.
var errClosed = errors.New("the connection was closed without a reply")

// request returns the bytes of one command in version 1 of the protocol: the
// version, the operation and always three arguments, each ended by a NUL
// (HotSpot's attachListener_posix.cpp, read_request). The whole command line
// is the first argument.
func request(cmd Command) []byte {
	return []byte("1\x00jcmd\x00" + cmd.String() + "\x00\x00\x00")
}

// exchange sends a request and reads the reply to its end, but at most most+1 bytes.
func exchange(ctx context.Context, conn *os.File, request []byte, most int) ([]byte, error) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		_ = conn.SetDeadline(time.Unix(1, 0)) // a deadline in the past wakes the calls below
	})
	defer func() {
		if !stop() {
			<-done
		}
	}()
	_, err := conn.Write(request)
	var reply []byte
	if err == nil {
		reply, err = io.ReadAll(io.LimitReader(conn, int64(most)+1))
	}
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, unix.EPIPE), errors.Is(err, unix.ECONNRESET):
		// If a server closes the connection before it has read the whole request, the connection is
		// reset.
		err = nil
	}
	if err == nil && len(reply) == 0 {
		err = errClosed
	}
	return reply, err
}

// parseReply splits a reply into its status and the rest. A reply is a decimal number, a newline
// and text up to the end of the connection (HotSpot's attachListener_posix.cpp, complete).
func parseReply(reply []byte) (status int, body string, err error) {
	head, rest, ok := bytes.Cut(reply, []byte{'\n'})
	digits := bytes.TrimPrefix(head, []byte{'-'})
	if !ok || len(digits) < 1 || len(digits) > 10 || len(bytes.Trim(digits, "0123456789")) > 0 {
		return 0, "", fmt.Errorf("the reply begins with %q, not with a status and a newline", head[:min(len(head), 32)])
	}
	n, err := strconv.ParseInt(string(head), 10, 32)
	if err != nil {
		return 0, "", fmt.Errorf("read status of reply: %w", err)
	}
	return int(n), string(rest), nil
}
