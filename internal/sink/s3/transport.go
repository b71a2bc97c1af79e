package s3

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/ullage/ullage/internal/sink/transport"
)

// pauses is a transport that remembers how long the server asks clients to wait, because the
// client library does not pass that on.
type pauses struct {
	inner http.RoundTripper
	after atomic.Int64 // a time.Duration; 0: the server asked for no pause

	patience time.Duration // for a whole answer

	page atomic.Value // the token of the last page of a listing, a string
}

// errRepeats ends a listing that would have no end.
var errRepeats = errors.New("the server keeps returning the same page of its list")

// RoundTrip implements [http.RoundTripper]. It bounds the answers of a server in length and in
// time, except for objects that are read.
func (p *pauses) RoundTrip(r *http.Request) (*http.Response, error) {
	if token := r.URL.Query().Get("continuation-token"); p.page.Swap(token) == token && token != "" {
		return nil, errRepeats
	}
	resp, err := p.inner.RoundTrip(r)
	p.after.Store(0)
	if err != nil {
		return resp, err
	}
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable {
		p.after.Store(int64(transport.RetryAfter(resp.Header, time.Now())))
	}
	if r.Method != http.MethodGet || resp.StatusCode != http.StatusOK || r.URL.Query().Has("list-type") {
		resp.Body = &page{ReadCloser: transport.Bound(resp.Body, maxAnswer, p.patience)}
	}
	return resp, nil
}

// maxEntries bounds the objects in a page of a listing. The client asks for 1,000. An empty
// entry takes a dozen bytes in an answer, and many times that in memory.
const maxEntries = 10_000

// page is an answer with a bound on the number of objects in it.
type page struct {
	io.ReadCloser
	entries int
}

// Read implements [io.Reader].
func (p *page) Read(to []byte) (int, error) {
	n, err := p.ReadCloser.Read(to)
	if p.entries += bytes.Count(to[:n], []byte("<Contents")); p.entries > maxEntries {
		return 0, errors.New("the server lists too many objects at once")
	}
	return n, err
}

// maxAnswer bounds an answer, in bytes. A listing of 1,000 objects is shorter.
const maxAnswer = 2 << 20

// bounded is the transport to the services that hand out keys. It bounds an answer to maxAnswer
// bytes; the client bounds the time.
type bounded struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	resp.Body = transport.Bound(resp.Body, maxAnswer, transport.ConnectTimeout)
	return resp, nil
}

// last returns how long the server asked clients to wait in its last answer.
func (p *pauses) last() time.Duration { return time.Duration(p.after.Load()) }
