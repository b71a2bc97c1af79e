package otlp

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/transport"
)

// Kind makes sinks for one scheme: otlp+https or otlp+http.
func Kind() sink.Kind { return sink.Kind{Open: open} }

// open reads the options of a sink. Settings that the environment has for OpenTelemetry's
// own exporters are read under their names.
func open(t sink.Target) (sink.Sink, error) {
	service := t.Options.Text("service", "")
	headers := t.Options.Text("headers", "")
	trust, untrusted := transport.TrustOf(&t.Options)
	if err := errors.Join(t.Options.Done(), untrusted); err != nil {
		return nil, err
	}
	if t.URL.Host == "" {
		return nil, errors.New("no host: use " + t.URL.Scheme + "://HOST/v1/logs")
	}
	fixed, err := pairs("OTEL_EXPORTER_OTLP_LOGS_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
	if err != nil {
		return nil, err
	}
	more, err := pairs("OTEL_RESOURCE_ATTRIBUTES")
	if err != nil {
		return nil, err
	}
	for _, a := range more {
		if a.key == "service.name" {
			service = cmp.Or(service, os.Getenv("OTEL_SERVICE_NAME"), a.value)
		}
	}
	service = cmp.Or(service, os.Getenv("OTEL_SERVICE_NAME"), t.Pod.Container, "unknown_service:java")
	s := &exporter{to: endpointOf(t.URL), headers: headerSource{path: headers, fixed: fixed}}
	s.encoder = encoder{resource: resourceOf(t.Pod, service, more), uidPrefix: prefixOf(t.Pod)}
	if _, err := s.headers.read(); err != nil {
		return nil, err
	}
	inner, err := transport.HTTP(trust)
	if err != nil {
		return nil, err
	}
	s.client = &http.Client{Transport: inner, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return s, nil
}

// endpointOf returns where requests go. OTLP's path is the default.
func endpointOf(u *url.URL) string {
	to := *u
	_, to.Scheme, _ = strings.Cut(u.Scheme, "+")
	if strings.Trim(to.Path, "/") == "" {
		to.Path = "/v1/logs"
	}
	return to.String()
}

// prefixOf returns what tells the lines of this sidecar from those of all others.
func prefixOf(pod sink.Pod) string {
	name := pod.Name
	if name == "" {
		name, _ = os.Hostname() // the pod's name, as a rule
	}
	return strings.ToValidUTF8(cmp.Or(pod.Namespace, "-")+"/"+name+"/"+cmp.Or(pod.Container, "-")+"/", "")
}

// pairs reads the first of these variables that is set, as key=value,key=value with %XX.
func pairs(names ...string) ([]attribute, error) {
	for _, name := range names {
		text := os.Getenv(name)
		if text == "" {
			continue
		}
		var found []attribute
		for pair := range strings.SplitSeq(text, ",") {
			key, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
			decoded, err := url.PathUnescape(strings.TrimSpace(value))
			if key = strings.TrimSpace(key); !ok || key == "" || err != nil {
				return nil, fmt.Errorf("the environment variable %s is not a list of key=value, separated by commas", name)
			}
			found = append(found, attribute{key, decoded})
		}
		return found, nil
	}
	return nil, nil
}

// headerBytes bounds a file of headers.
const headerBytes = 64 << 10

// headerSource is where the headers of requests come from: a file, or else fixed.
type headerSource struct {
	path  string
	fixed []attribute
}

// read returns the headers. A file is read again each time, so that a renewed token needs
// no restart. Errors do not show values.
func (h headerSource) read() ([]attribute, error) {
	found := h.fixed
	if h.path != "" {
		f, err := os.Open(h.path)
		if err != nil {
			return nil, fmt.Errorf("option headers: %w", err)
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, headerBytes))
		if err != nil {
			return nil, fmt.Errorf("option headers: %w", err)
		}
		if found, err = parseHeaders(text); err != nil {
			return nil, fmt.Errorf("option headers: %s: %w", h.path, err)
		}
	}
	for i, a := range found {
		if !httpguts.ValidHeaderFieldName(a.key) || !httpguts.ValidHeaderFieldValue(a.value) {
			return nil, fmt.Errorf("header %d is not one that HTTP allows", i+1)
		}
	}
	return found, nil
}

// parseHeaders reads "Name: value" lines; empty lines are allowed.
func parseHeaders(text []byte) (found []attribute, err error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, headerBytes+1)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("line %d is not \"Name: value\"", n)
		}
		found = append(found, attribute{strings.TrimSpace(name), strings.TrimSpace(value)})
	}
	return found, lines.Err()
}
