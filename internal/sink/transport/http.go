package transport

import (
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// maxHeader bounds the header of an answer, in bytes. A parsed header takes many times as much
// memory.
const maxHeader = 64 << 10

// HTTP returns a transport that trusts the authorities of t and keeps no more connections than a
// sink needs. It gives up on a server that accepts or answers nothing, or whose header does not
// end. It follows the environment's proxy settings. Its requests fail until the files of t exist.
// It does not bound the body of an answer: see [Bound].
func HTTP(t Trust) http.RoundTripper { return &late{trust: t} }

// late is a transport that is made once the files of trust can be read.
type late struct {
	trust Trust

	mu   sync.Mutex
	made *http.Transport // nil: the files were not read yet
}

// RoundTrip implements [http.RoundTripper].
func (l *late) RoundTrip(r *http.Request) (*http.Response, error) {
	inner, err := l.transport()
	if err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	return inner.RoundTrip(r)
}

// CloseIdleConnections is called by the method of [http.Client] with this name.
func (l *late) CloseIdleConnections() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made != nil {
		l.made.CloseIdleConnections()
	}
}

// transport returns the transport, which it makes at the first call that can read the files.
func (l *late) transport() (*http.Transport, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made != nil {
		return l.made, nil
	}
	behindProxy, err := l.trust.Config("")
	if err != nil {
		return nil, err
	}
	l.made = &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           Dial,
		DialTLSContext:        l.trust.DialTLS(),
		TLSClientConfig:       behindProxy,
		TLSHandshakeTimeout:   ConnectTimeout,
		ResponseHeaderTimeout: AnswerTimeout,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       30 * time.Second,
		MaxIdleConns:          2,
		MaxConnsPerHost:       4,

		MaxResponseHeaderBytes: maxHeader,

		DisableCompression: true,
	}
	return l.made, nil
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
