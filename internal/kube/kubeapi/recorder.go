package kubeapi

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/kube/names"
)

// Event is an event of an object, as kubectl describe shows it.
type Event struct {
	Namespace  string
	APIVersion string // of the object
	Kind       string
	Name       string
	UID        string

	Reason  string // a word, such as Injected
	Message string
	Warning bool
}

// Bounds on events. Anyone who can reach the webhook can cause events.
const (
	maxQueued = 64 // events that wait
	// maxRecent is how many recently created events are remembered.
	maxRecent = 1024
	// repeatAfter is the time after which the same event of an object is created again.
	repeatAfter = 10 * time.Minute
	// eventInterval is the shortest time between two events.
	eventInterval = time.Second
)

// CreateEvent is the request of a [Recorder].
var CreateEvent = Operation{Name: "create_event", Method: http.MethodPost, Verb: "create", Resource: "events"}

// What can happen to an event.
const (
	created  = "created"
	dropped  = "dropped" // too many events were waiting
	repeated = "repeated"
	failed   = "failed"
)

// Recorder creates Events. The caller does not wait and is not notified of failures.
type Recorder struct {
	api      *Client
	log      *slog.Logger
	queue    chan Event
	results  *prometheus.CounterVec
	interval time.Duration
}

// NewRecorder returns a Recorder for a valid cluster.
func NewRecorder(c Cluster, reg prometheus.Registerer, log *slog.Logger) (*Recorder, error) {
	r := &Recorder{log: log, queue: make(chan Event, maxQueued), interval: eventInterval,
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ullage_injector_events_total", Help: "Kubernetes Events about injected pods, by result: created, repeated (the same Event was created recently), dropped (too many are waiting), failed."}, []string{"result"})}
	for _, result := range []string{created, dropped, repeated, failed} {
		r.results.WithLabelValues(result)
	}
	reg.MustRegister(r.results)
	var err error
	r.api, err = New(c, func(Operation) {})
	return r, err
}

// Record queues a valid event. It does not block: if too many events wait, it drops the event.
// It cuts a long message before it queues the event, because a review can lead to megabytes of
// warnings.
func (r *Recorder) Record(e Event) {
	if !e.valid() {
		return
	}
	e.Message = printable.Text(e.Message, names.MaxText)
	select {
	case r.queue <- e:
	default:
		r.results.WithLabelValues(dropped).Inc()
	}
}

// Run creates the queued events until ctx ends. It drops events that are still waiting then.
func (r *Recorder) Run(ctx context.Context) {
	defer r.api.Close()
	recent := map[Event]time.Time{}
	broken := false // the last request failed
	for {
		var e Event
		select {
		case <-ctx.Done():
			return
		case e = <-r.queue:
		}
		now := time.Now()
		if last, ok := recent[e]; ok && now.Sub(last) < repeatAfter {
			r.results.WithLabelValues(repeated).Inc()
			continue
		}
		if len(recent) == maxRecent {
			clear(recent)
		}
		err := r.create(ctx, e, now)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			recent[e] = now
			r.results.WithLabelValues(created).Inc()
		default:
			r.results.WithLabelValues(failed).Inc()
			if !broken {
				// messages.md#the-injector: The API server refuses the Events of `--events` or
				// cannot be reached; `error` has the reason. Logged once until an Event succeeds.
				// Pods are injected all the same.
				r.log.Warn("events are not created", "error", printable.Text(err.Error(), 2*names.MaxText))
			}
		}
		broken = err != nil
		select {
		case <-ctx.Done():
			return
		case <-time.After(r.interval):
		}
	}
}

// create sends one event.
func (r *Recorder) create(ctx context.Context, e Event, now time.Time) error {
	ofType, at := "Normal", now.UTC().Format(time.RFC3339)
	if e.Warning {
		ofType = "Warning"
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Event",
		"metadata":       map[string]any{"generateName": e.Name + ".", "namespace": e.Namespace},
		"involvedObject": map[string]any{"apiVersion": e.APIVersion, "kind": e.Kind, "namespace": e.Namespace, "name": e.Name, "uid": e.UID},
		"reason":         e.Reason, "message": e.Message, "type": ofType,
		"source": map[string]any{"component": "ullage-injector"}, "reportingComponent": "ullage-injector",
		"firstTimestamp": at, "lastTimestamp": at, "count": 1,
	})
	if err != nil {
		return err
	}
	var ignored struct{}
	return r.api.Do(ctx, CreateEvent, "/api/v1/namespaces/"+e.Namespace+"/events", "application/json", body, &ignored)
}

// valid reports whether the event may be sent: a review is untrusted, and its
// namespace becomes part of a path.
func (e Event) valid() bool {
	return names.IsLabel(e.Namespace) && e.Kind != "" && e.Name != "" && len(e.Name) <= names.MaxName && len(e.Kind) <= names.MaxName && len(e.UID) <= names.MaxName && len(e.APIVersion) <= names.MaxName
}
