package otlp

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/address"
	"github.com/ullage/ullage/internal/sink/transport"
)

// Kind creates sinks for one scheme: otlp+https or otlp+http.
func Kind() sink.Kind { return sink.Kind{Open: open} }

// open reads the options of a sink. It also reads environment variables of OpenTelemetry's own
// exporters, under the same names.
func open(t sink.Target) (sink.Sink, error) {
	given, err := address.ParseOTLP(t.URL, &t.Options)
	if err != nil {
		return nil, err
	}
	fixed, err := pairs("OTEL_EXPORTER_OTLP_LOGS_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
	if err != nil {
		return nil, err
	}
	sent, absent := headersOf(given.Headers, fixed)
	trust, untrusted := transport.TrustOf(given.Files)
	if err := cmp.Or(untrusted, absent); err != nil {
		return nil, err
	}
	service := given.Service
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
	s := &exporter{to: given.Endpoint, headers: sent}
	s.encoder = encoder{resource: resourceOf(t.Pod, service, more), uidPrefix: prefixOf(t.Pod)}
	s.client = &http.Client{Transport: transport.HTTP(trust), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return s, nil
}

// prefixOf returns the prefix of this sidecar's uids. No other sidecar has the same prefix.
func prefixOf(pod sink.Pod) string {
	name := pod.Name
	if name == "" {
		name, _ = os.Hostname() // usually the pod's name
	}
	return strings.ToValidUTF8(cmp.Or(pod.Namespace, "-")+"/"+name+"/"+cmp.Or(pod.Container, "-")+"/", "")
}

// pairs reads the first of these variables that is set, as key=value,key=value. In values, %XX is
// decoded.
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
