package otlp

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/transport"
)

// Kind makes sinks for one scheme: otlp+https or otlp+http.
func Kind() sink.Kind { return sink.Kind{Open: open} }

// open reads the options of a sink. It also reads environment variables of OpenTelemetry's own
// exporters, under the same names.
func open(t sink.Target) (sink.Sink, error) {
	service := t.Options.Text("service", "", "the resource's `service.name`: by default `OTEL_SERVICE_NAME`, else `--container-name`")
	fixed, err := pairs("OTEL_EXPORTER_OTLP_LOGS_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
	if err != nil {
		return nil, err
	}
	sent, absent := headersOf(&t.Options, fixed)
	trust, untrusted := transport.TrustOf(&t.Options)
	if err := cmp.Or(t.Options.Done(), untrusted, absent); err != nil {
		return nil, err
	}
	if t.URL.Host == "" {
		return nil, errors.New("no host: use " + t.URL.Scheme + "://HOST/v1/logs")
	}
	more, err := pairs("OTEL_RESOURCE_ATTRIBUTES")
	if err != nil {
		return nil, err
	}
	for _, a := range more {
		if a.name == "service.name" {
			service = cmp.Or(service, os.Getenv("OTEL_SERVICE_NAME"), a.value)
		}
	}
	service = cmp.Or(service, os.Getenv("OTEL_SERVICE_NAME"), t.Pod.Container, "unknown_service:java")
	s := &exporter{to: endpointOf(t.URL), headers: sent}
	s.encoder = encoder{resource: resourceOf(t.Pod, service, more), uidPrefix: prefixOf(t.Pod)}
	inner, err := transport.HTTP(trust)
	if err != nil {
		return nil, err
	}
	s.client = &http.Client{Transport: inner, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return s, nil
}

// endpointOf returns the URL for requests. The default path is that of OTLP.
func endpointOf(u *url.URL) string {
	to := *u
	_, to.Scheme, _ = strings.Cut(u.Scheme, "+")
	if strings.Trim(to.Path, "/") == "" {
		to.Path = "/v1/logs"
	}
	return to.String()
}

// prefixOf returns the prefix of this sidecar's uids. No other sidecar has the same prefix.
func prefixOf(pod sink.Pod) string {
	name := pod.Name
	if name == "" {
		name, _ = os.Hostname() // usually the pod's name
	}
	return strings.ToValidUTF8(cmp.Or(pod.Namespace, "-")+"/"+name+"/"+cmp.Or(pod.Container, "-")+"/", "")
}

// pairs reads the first of these variables that is set, as key=value,key=value with %XX.
func pairs(names ...string) ([]header, error) {
	for _, name := range names {
		text := os.Getenv(name)
		if text == "" {
			continue
		}
		var found []header
		for pair := range strings.SplitSeq(text, ",") {
			key, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
			decoded, err := url.PathUnescape(strings.TrimSpace(value))
			if key = strings.TrimSpace(key); !ok || key == "" || err != nil {
				return nil, fmt.Errorf("the environment variable %s is not a list of key=value, separated by commas", name)
			}
			found = append(found, header{key, decoded})
		}
		return found, nil
	}
	return nil, nil
}
