package opensearch

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"

	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/transport"
)

// Kind makes sinks for one scheme: opensearch+https or opensearch+http.
func Kind() sink.Kind { return sink.Kind{Open: open} }

// validIndex is what a server takes for the name of an index, and a little less.
var validIndex = regexp.MustCompile(`^[a-z0-9.][a-z0-9._-]{0,254}$`)

func open(t sink.Target) (sink.Sink, error) {
	service := t.Options.Text("service", "")
	fixed, err := credentials()
	if err != nil {
		return nil, err
	}
	headers, absent := transport.HeadersOf(&t.Options, fixed)
	trust, untrusted := transport.TrustOf(&t.Options)
	if err := cmp.Or(t.Options.Done(), untrusted, absent); err != nil {
		return nil, err
	}
	to := *t.URL
	_, to.Scheme, _ = strings.Cut(to.Scheme, "+")
	path := strings.TrimRight(to.Path, "/")
	index := path[strings.LastIndexByte(path, '/')+1:]
	if to.Host == "" || index == "" {
		return nil, errors.New("no host or no index: use " + t.URL.Scheme + "://HOST/DATA-STREAM-OR-INDEX")
	}
	if !validIndex.MatchString(index) {
		return nil, fmt.Errorf("%q cannot be an index: use lower-case letters, digits, dots, dashes and underscores", index)
	}
	to.Path = path + "/_bulk"
	to.RawQuery = "filter_path=errors,items.*.status,items.*.error.type,items.*.error.reason"
	inner, err := transport.HTTP(trust)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: inner, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &indexer{client: client, to: to.String(), headers: headers, encoder: newEncoder(t.Pod, cmp.Or(service, t.Pod.Container))}, nil
}

// credentials returns those of the environment: an API key, or a user and a password.
func credentials() ([]transport.Header, error) {
	key, user, password := os.Getenv("OPENSEARCH_API_KEY"), os.Getenv("OPENSEARCH_USERNAME"), os.Getenv("OPENSEARCH_PASSWORD")
	switch {
	case key != "" && user != "":
		return nil, errors.New("OPENSEARCH_API_KEY and OPENSEARCH_USERNAME are both set: use one")
	case key != "":
		return []transport.Header{{Name: "Authorization", Value: "ApiKey " + key}}, nil
	case user != "":
		return []transport.Header{{Name: "Authorization", Value: "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))}}, nil
	}
	return nil, nil
}
