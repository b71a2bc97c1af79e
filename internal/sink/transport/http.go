package transport

import (
	"io"
	"net/http"
	"strconv"
	"time"
)

// maxHeader bounds the header of an answer, in bytes. A parsed header takes many times as much
// memory.
const maxHeader = 64 << 10

// HTTP returns a transport that trusts the authorities of t and keeps no more connections than a
// sink needs. It gives up on a server that accepts or answers nothing, or whose header does not
// end. It follows the environment's proxy settings. It does not bound the body of an answer: see
// [Bound].
func HTTP(t Trust) (*http.Transport, error) {
	behindProxy, err := t.Config("")
	if err != nil {
		return nil, err
	}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           Dial,
		DialTLSContext:        t.DialTLS(),
		TLSClientConfig:       behindProxy,
		TLSHandshakeTimeout:   ConnectTimeout,
		ResponseHeaderTimeout: AnswerTimeout,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       30 * time.Second,
		MaxIdleConns:          2,
		MaxConnsPerHost:       4,

		MaxResponseHeaderBytes: maxHeader,

		DisableCompression: true,
	}, nil
}

// answer is a body that ends after a number of bytes, or when its time is over.
type answer struct {
	io.Reader
	body io.Closer
	over *time.Timer
}

// Bound returns a body that ends after limit bytes, and fails once patience is over.
func Bound(body io.ReadCloser, limit int64, patience time.Duration) io.ReadCloser {
	return &answer{io.LimitReader(body, limit), body, time.AfterFunc(patience, func() { body.Close() })}
}

// Close implements [io.Closer].
func (a *answer) Close() error {
	a.over.Stop()
	return a.body.Close()
}

// RetryAfter returns how long the server that answered with h asks clients to wait
// (RFC 9110, 10.2.3: seconds, or a date), or zero if h does not say. A date is compared with
// the server's own clock, which the header Date shows: the clocks may differ by hours.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if theirs, err := http.ParseTime(h.Get("Date")); err == nil {
		now = theirs
	}
	return max(0, at.Sub(now))
}
