package s3

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// pauses is a transport that keeps how long the server wants to be left alone, which the
// client library does not hand on.
type pauses struct {
	inner http.RoundTripper
	after atomic.Int64 // a time.Duration; 0: it did not say

	patience time.Duration // for the whole of an answer
}

// RoundTrip implements [http.RoundTripper]. What a server answers is bounded in length
// and in time, but for the objects that are read back.
func (p *pauses) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.inner.RoundTrip(r)
	p.after.Store(0)
	if err != nil {
		return resp, err
	}
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable {
		p.after.Store(int64(retryAfter(resp.Header.Get("Retry-After"), time.Now())))
	}
	if r.Method != http.MethodGet || resp.StatusCode != http.StatusOK || r.URL.Query().Has("list-type") {
		resp.Body = p.bound(resp.Body)
	}
	return resp, nil
}

// maxAnswer is the most that is read of an answer. A listing of 1,000 objects has less.
const maxAnswer = 2 << 20

// answer is a body that ends at maxAnswer bytes, or when its time is over.
type answer struct {
	io.Reader
	body io.Closer
	over *time.Timer
}

func (p *pauses) bound(body io.ReadCloser) io.ReadCloser {
	return &answer{io.LimitReader(body, maxAnswer), body, time.AfterFunc(p.patience, func() { body.Close() })}
}

// Close implements [io.Closer].
func (a *answer) Close() error {
	a.over.Stop()
	return a.body.Close()
}

// retryAfter reads the header of that name (RFC 9110, 10.2.3): seconds, or a date.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// impatient makes connections whose writes fail if the server takes nothing for
// stallTimeout. A slow one may take as long as it needs.
func impatient(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return conn{c}, nil
	}
}

type conn struct{ net.Conn }

func (c conn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(stallTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// last returns what the server said to the last request.
func (p *pauses) last() time.Duration { return time.Duration(p.after.Load()) }
