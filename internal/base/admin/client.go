package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

// maxAnswer bounds the answer. A real answer is under 100 KiB, but any program may
// listen at the address.
const maxAnswer = 1 << 20

// Client asks a sidecar for its status and its last events.
type Client struct {
	Addr    string        // host:port, or the address of [Server.ListenAt]
	Timeout time.Duration // for the whole answer

	// Check, if not nil, checks each connection before a request is sent.
	Check func(net.Conn) error
}

// ErrUnreachable reports that nothing listens at the address.
var ErrUnreachable = errors.New("nothing listens there")

// Status sends one request and returns the answer raw and decoded.
func (c Client) Status(ctx context.Context) ([]byte, Status, error) {
	var st Status
	body, err := c.get(ctx, "/status")
	if err == nil {
		if err = json.Unmarshal(body, &st); err != nil {
			err = fmt.Errorf("decode the answer of %s: %w: is it ullage that listens there?", c.Addr, err)
		}
	}
	if err != nil {
		return nil, Status{}, err
	}
	return body, st, nil
}

// Recent asks for a [Recent] and returns the answer undecoded.
func (c Client) Recent(ctx context.Context) ([]byte, error) { return c.get(ctx, "/recent") }

// get sends one request and returns the answer.
func (c Client) get(ctx context.Context, path string) ([]byte, error) {
	place, network := "http://"+c.Addr+path, "tcp"
	if c.Addr != "" && c.Addr[0] == '@' {
		place, network = "http://localhost"+path, "unix"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, place, nil)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", c.Addr, err)
	}
	var connected atomic.Bool // an http.Client's timeout does not show whether dialing took too long
	// Use no proxy from the environment: the sidecar is local.
	client := &http.Client{Timeout: c.Timeout, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := c.dial(ctx, network)
			connected.Store(err == nil)
			return conn, err
		}}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, c.unanswered(err, connected.Load())
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask %s: the answer is %s: is it ullage that listens there?", c.Addr, resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, c.unanswered(err, true)
	}
	if len(body) > maxAnswer {
		return nil, fmt.Errorf("read the answer of %s: it is longer than %d bytes: is it ullage that listens there?", c.Addr, maxAnswer)
	}
	return body, nil
}

func (c Client) dial(ctx context.Context, network string) (net.Conn, error) {
	d := net.Dialer{Timeout: c.Timeout} // net/http would continue to dial after the request is abandoned
	conn, err := d.DialContext(ctx, network, c.Addr)
	if err != nil || c.Check == nil {
		return conn, err
	}
	if err := c.Check(conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// unanswered returns why there is no complete answer, without the text that
// net/http adds to the cause.
func (c Client) unanswered(err error, connected bool) error {
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		if !connected {
			return fmt.Errorf("%s did not accept a connection within %s: a firewall drops the packets, or the listener is overloaded", c.Addr, c.Timeout)
		}
		return fmt.Errorf("%s accepted the request but did not answer within %s: ullage is stopped or very busy, or something else listens there", c.Addr, c.Timeout)
	}
	var asked *url.Error
	if errors.As(err, &asked) {
		err = asked.Err
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return err
}
