package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ullage/ullage/internal/base/printable"
)

const index = `ullage admin

/metrics  metrics for Prometheus
/healthz  is the process alive
/readyz   is it ready, and if not, why
/status   its state as JSON ('ullage status' prints the same for people)
`

// recentIndex is the rest of the index of a server that has a page.
const recentIndex = `/recent   the last pauses and gaps as JSON
/         for a browser: a page that shows all of this and refreshes itself
`

// maxReason bounds the line that /readyz returns: an error may quote names that
// the application chose.
const maxReason = 512

// maxScrapes is how many scrapes are answered at a time; further ones get 503.
const maxScrapes = 4

// newMux routes the paths. A pattern with GET also accepts HEAD; the mux
// answers every other method with 405.
func newMux(reg *prometheus.Registry, of Answers, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics(reg, log))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { readyz(w, of.Ready) })
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, of.Status()) })
	if of.Recent == nil {
		mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, index) })
		return mux
	}
	mux.HandleFunc("GET /recent", func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, of.Recent()) })
	mux.HandleFunc("GET /{$}", root)
	return mux
}

// answering passes on the requests that name this machine and refuses others with 403. Otherwise,
// a web page whose host name was made to resolve to this address (DNS rebinding) could read the
// status and the last lines. A host that is an IP address needs no DNS, and no stranger can
// register a name without a dot or with one of localSuffixes. So a cluster's Services, a
// forwarded port and Prometheus, which scrapes pods by IP address, reach the server.
func answering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLocal(r.Host) {
			text(w, http.StatusForbidden, "ullage answers only requests to an IP address, localhost, or the name of a Service (web, web.shop.svc)\n")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// localSuffixes are the endings of names that only a machine or a cluster resolves.
var localSuffixes = []string{".localhost", ".svc", ".cluster.local", ".internal"}

// isLocal reports whether a Host header names this machine. The header is empty in a request of
// HTTP/1.0, which no browser sends.
func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil || !strings.Contains(host, ".") {
		return true
	}
	return slices.ContainsFunc(localSuffixes, func(suffix string) bool { return strings.HasSuffix(host, suffix) })
}

// metrics serves reg. Compression stays off: it kept 1.4 MiB resident in a
// measurement, a tenth of the sidecar's memory, to save 20 KiB for each scrape.
func metrics(reg *prometheus.Registry, log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		DisableCompression: true,
		// One broken collector must not hide the other metrics.
		ErrorHandling: promhttp.ContinueOnError,
		ErrorLog:      &firstError{log: log},
		// The gathered metrics stay in memory until the client has read them.
		// No deployment has more concurrent scrapers than this.
		MaxRequestsInFlight: maxScrapes,
	})
}

func readyz(w http.ResponseWriter, ready Check) {
	if ready != nil {
		if err := ready(); err != nil {
			text(w, http.StatusServiceUnavailable, printable.Text(err.Error(), maxReason)+"\n")
			return
		}
	}
	text(w, http.StatusOK, "ready\n")
}

// answerJSON first encodes the answer into memory, so that a slow client does not keep the
// caller's data in use.
func answerJSON(w http.ResponseWriter, answer any) {
	body, err := json.MarshalIndent(answer, "", "  ")
	if err != nil {
		text(w, http.StatusInternalServerError, "encode the answer: "+printable.Text(err.Error(), maxReason)+"\n")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	// An error means that the client is gone or too slow.
	_, _ = w.Write(append(body, '\n'))
}

func text(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(body))
}

// serverErrors logs the errors of net/http, one line each.
type serverErrors struct{ log *slog.Logger }

func (s serverErrors) Write(line []byte) (int, error) {
	// messages.md#admin-http: `error` has the text of Go's HTTP server.
	s.log.Warn("HTTP server reported an error", "error", printable.Text(strings.TrimSpace(string(line)), maxReason))
	return len(line), nil
}

// firstError logs the first error of the metrics handler and ignores later
// ones: a broken collector fails at each scrape. It also ignores a client that
// goes away or reads too slowly. It is a promhttp.Logger.
type firstError struct {
	log  *slog.Logger
	said atomic.Bool
}

func (f *firstError) Println(v ...any) {
	for _, a := range v {
		var network net.Error
		if err, ok := a.(error); ok && errors.As(err, &network) {
			return
		}
	}
	if f.said.Swap(true) {
		return
	}
	// messages.md#admin-http: Some metrics are missing. Later errors are not logged. This is a bug:
	// please report it.
	f.log.Warn("serving metrics failed", "error", printable.Text(fmt.Sprint(v...), maxReason),
		"hint", "some metrics are missing; later errors are not logged")
}
