package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

// longestLine is the longest line that a receiver accepts.
const longestLine = 1 << 20

// A receiver replaces the store to which a shipper pushes. It appends the lines that the shipper pushes to a file.
// Its CPU time is not counted for the shipper.
type receiver struct {
	mu   sync.Mutex
	path string
}

// receive starts a receiver, which listens until the context ends, and returns its address.
func receive(ctx context.Context, path string) (address string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for what is pushed: %w", err)
	}
	server := &http.Server{Handler: &receiver{path: path}, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() }) // at the end of the run
	go func() { _ = server.Serve(l) }()                   // ends when the server is closed
	return l.Addr().String(), nil
}

// ServeHTTP writes the messages in a request of JSON lines, which may be compressed. It answers once the messages
// are in the file. It refuses a request that it cannot read.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.take(request.Body, request.Header.Get("Content-Encoding")); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

func (r *receiver) take(body io.Reader, encoding string) error {
	if encoding == "zstd" {
		d, err := zstd.NewReader(body)
		if err != nil {
			return fmt.Errorf("decompress a request: %w", err)
		}
		defer d.Close()
		body = d
	}
	// The file does not stay open, because its disk is unmounted after a measurement.
	f, err := os.OpenFile(r.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("open the output: %w", err)
	}
	out := bufio.NewWriterSize(f, 1<<20)
	err = messages(out, body)
	return errors.Join(err, out.Flush(), f.Close())
}

// messages copies the field _msg of each line.
func messages(out *bufio.Writer, body io.Reader) error {
	in := bufio.NewScanner(body)
	in.Buffer(nil, longestLine)
	for in.Scan() {
		var line struct {
			Msg string `json:"_msg"`
		}
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			return fmt.Errorf("decode a line: %w", err)
		}
		_, _ = out.WriteString(line.Msg) // Flush returns the error
		_ = out.WriteByte('\n')
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("read a request: %w", err)
	}
	return nil
}

// argumentsIn returns the lines of a file as arguments, for a program that has no configuration file. It returns
// nil if the file cannot be read.
func argumentsIn(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return strings.FieldsFunc(string(text), func(c rune) bool { return c == '\n' })
}
