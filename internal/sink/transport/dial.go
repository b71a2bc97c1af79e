package transport

import (
	"context"
	"net"
	"time"
)

// Bounds on how long a server can delay its sink.
const (
	ConnectTimeout = 10 * time.Second // to connect, and again for TLS
	AnswerTimeout  = time.Minute      // for the answer to a request that was sent
	StallTimeout   = 2 * time.Minute  // for the server to take the next bytes of a request
)

// DialFunc opens connections, as [net.Dialer.DialContext] does.
type DialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// Dial opens a connection whose writes fail if the server accepts nothing for StallTimeout. A
// server that is merely slow may take as long as it needs.
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: ConnectTimeout}
	c, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return conn{c}, nil
}

type conn struct{ net.Conn }

func (c conn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(StallTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
