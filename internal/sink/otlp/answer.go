package otlp

import (
	"bytes"
	"fmt"
	"math"
	"mime"
	"net/http"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/transport"
)

// maxMessage bounds the message of a server, in bytes.
const maxMessage = 256

// partial is a partial success, in which the server has refused count records.
type partial struct {
	count   int
	message string
}

// judge returns the partial success or the error that an answer means.
func judge(resp *http.Response, body []byte, now time.Time) (partial, error) {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch code := resp.StatusCode; {
	case code == http.StatusOK && kind == contentType:
		p, err := partialOf(body)
		if err != nil {
			err = fmt.Errorf("read the answer: %w", err)
		}
		return p, err
	case code/100 == 2 && len(body) == 0: // an empty protobuf, which Loki and others send without a content type
		return partial{}, nil
	case code/100 == 2:
		return partial{}, fmt.Errorf("the answer is %d with content of type %q, but OTLP requires %s: is this the address of an OTLP endpoint?",
			code, printable.Text(kind, maxMessage), contentType)
	case code == http.StatusBadRequest && kind != contentType && expectsTLS(body):
		return partial{}, fmt.Errorf("%w: use otlp+https", answerError(resp, kind, body))
	case code == http.StatusBadRequest, code == http.StatusRequestEntityTooLarge, code == http.StatusUnprocessableEntity:
		return partial{}, refused{answerError(resp, kind, body)}
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
		return partial{}, &sink.BusyError{After: transport.RetryAfter(resp.Header, now), Err: answerError(resp, kind, body)}
	}
	return partial{}, answerError(resp, kind, body)
}

// expectsTLS reports whether the body of a 400 says that the request came without TLS to a port with
// TLS, in the words of Go, nginx or Apache. Such an answer does not concern the content of the request.
func expectsTLS(body []byte) bool {
	for _, words := range []string{"HTTP request to an HTTPS server", "HTTP request was sent to HTTPS port", "speaking plain HTTP to an SSL-enabled server port"} {
		if bytes.Contains(body, []byte(words)) {
			return true
		}
	}
	return false
}

// answerError returns the error in an answer with a status other than 200.
func answerError(resp *http.Response, kind string, body []byte) error {
	text := string(body)
	if kind == contentType {
		text = statusMessage(body)
	}
	if text = printable.Text(text, maxMessage); text == "" {
		return fmt.Errorf("the answer is %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	return fmt.Errorf("the answer is %d %s: %s", resp.StatusCode, http.StatusText(resp.StatusCode), text)
}

// statusMessage returns field 2 of a google.rpc.Status: its message.
func statusMessage(body []byte) string {
	message := ""
	_ = eachField(body, func(field protowire.Number, value []byte, _ uint64) error { // the fields before an error are enough
		if field == 2 {
			message = string(value)
		}
		return nil
	})
	return message
}

// partialOf reads an ExportLogsServiceResponse: its field 1 is the partial success, in which
// field 1 is the number of rejected records and field 2 is the message.
func partialOf(body []byte) (p partial, err error) {
	err = eachField(body, func(field protowire.Number, value []byte, _ uint64) error {
		if field != 1 {
			return nil
		}
		return eachField(value, func(field protowire.Number, value []byte, n uint64) error {
			switch field {
			case 1:
				p.count = int(min(max(int64(n), 0), math.MaxInt32))
			case 2:
				p.message = printable.Text(string(value), maxMessage)
			}
			return nil
		})
	})
	return p, err
}

// eachField calls fn with each field of a message: n is a varint, value is bytes.
func eachField(message []byte, fn func(field protowire.Number, value []byte, n uint64) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		var value []byte
		var number uint64
		switch kind {
		case protowire.BytesType:
			value, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(message)
		default:
			n = protowire.ConsumeFieldValue(field, kind, message)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if err := fn(field, value, number); err != nil {
			return err
		}
	}
	return nil
}
