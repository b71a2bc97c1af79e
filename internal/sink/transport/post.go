package transport

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Post sends a gzip body of a content type, with further headers. It returns the answer,
// and at most limit bytes of the answer's body, for which the server has patience long.
// What it repeats of the headers is overwritten, see [Redact].
func Post(ctx context.Context, client *http.Client, to, contentType string, body []byte, headers []Header, limit int64, patience time.Duration) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return nil, nil, fmt.Errorf("make the request: %w", err)
	}
	for _, h := range headers {
		req.Header.Set(h.Name, h.Value)
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Content-Encoding", "gzip")
	req.Header.Set("User-Agent", "ullage")
	resp, err := client.Do(req)
	if err != nil {
		return nil, nil, fmt.Errorf("send the lines: %w", err)
	}
	answer := Bound(resp.Body, limit, patience)
	defer answer.Close()
	text, err := io.ReadAll(answer)
	if err != nil {
		return nil, nil, fmt.Errorf("read the answer %d: %w", resp.StatusCode, err)
	}
	Redact(text, headers)
	return resp, text, nil
}
