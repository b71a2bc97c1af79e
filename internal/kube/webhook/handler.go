package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/untrusted"
	"github.com/ullage/ullage/internal/kube/names"
)

// Mutate decides about one pod that is about to be created in the namespace. pod
// is the JSON that the API server sent. An error means that there is no decision.
//
// It must be pure and safe for concurrent use. It may panic.
type Mutate func(pod []byte, namespace string) (Decision, error)

// Decision is the decision about one pod. The zero value leaves the pod as it is.
type Decision struct {
	// Patch is a JSON patch (RFC 6902), which may be empty.
	Patch []byte

	// Injected means that Patch adds the sidecar.
	Injected bool

	// Warnings are for the person who creates the pod, and for the log.
	Warnings []string

	// Refused, if not empty, is why the pod does not get a sidecar that it should
	// have: one of [Config.Reasons].
	Refused string

	// Denied, if not empty, is why the pod must not start.
	Denied string
}

// Bounds on the work in progress. A review is a pod and a little more: about 10 KiB.
const (
	// maxBody is the largest request that an API server itself accepts.
	maxBody = 3 << 20
	// maxElements is how many elements a review may have, as package untrusted
	// counts them. An environment variable is six elements, including its entries in
	// the pod's managedFields.
	maxElements = 20_000
	// maxDrained is how much of a larger body is read and discarded, so that its
	// sender reads the answer.
	maxDrained = 16 << 20
	// A review of more than smallBody bytes is large. Only maxLarge of them are in
	// memory at a time.
	smallBody = 64 << 10
	maxLarge  = 1
	// maxDecisions is how many calls of Mutate run at a time.
	maxDecisions = 8

	// maxMemory bounds the memory of all decisions in progress. A decision takes at most
	// elementMemory for each element and byteMemory for each byte of its review. Decoding doubles
	// a growing list, and a container without fields takes 3 bytes in the review and 408 in
	// memory.
	maxMemory     = 48 << 20
	elementMemory = 1500
	byteMemory    = 8
	// maxStack is how much of a stack trace is logged.
	maxStack = 4 << 10
)

// How long a review may wait for other reviews: less than the API server waits
// for the answer, so that the answer arrives in time. The API server passes its
// timeout in the URL: ?timeout=5s.
const (
	defaultPatience = 4 * time.Second
	maxPatience     = 10 * time.Second
)

// Reasons why there is no decision about a review.
var (
	errTooLarge = fmt.Errorf("the review is larger than %d MiB", maxBody>>20)
	errBusy     = errors.New("the injector is busy with other pods")
)

// handler answers reviews.
type handler struct {
	mutate  Mutate
	deny    bool // on errors
	notify  func(Notice)
	log     *slog.Logger
	quiet   *quiet // for lines that anyone who can reach the port can cause
	metrics metrics

	memory *semaphore.Weighted // of maxMemory: the memory of the decisions in progress
	large  *semaphore.Weighted // of maxLarge: the large reviews in memory

	// leaving means that each connection ends with its next answer.
	leaving atomic.Bool
}

func newHandler(cfg Config, mutate Mutate, m metrics, log *slog.Logger) *handler {
	return &handler{
		mutate: mutate, deny: cfg.DenyOnError, notify: cfg.OnDecision, log: log, quiet: newQuiet(log), metrics: m,
		memory: semaphore.NewWeighted(maxMemory), large: semaphore.NewWeighted(maxLarge),
	}
}

// reply is an answer, or a text if no answer is possible.
type reply struct {
	result string // the label of the metric
	code   int    // of HTTP
	answer *admissionv1.AdmissionReview
	text   string
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	if h.leaving.Load() {
		w.Header().Set("Connection", "close")
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience(r))
	defer cancel()
	rep := h.take(ctx, r)
	h.metrics.observe(rep.result, time.Since(began))
	send(w, rep)
}

// take reads a review and returns the reply.
func (h *handler) take(ctx context.Context, r *http.Request) reply {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return reply{result: failed, code: http.StatusUnsupportedMediaType, text: "send the review as application/json"}
	}
	// A body of unknown length is treated as large. If a body is over maxBody, only its head is
	// read.
	if n := r.ContentLength; n < 0 || n > smallBody && n <= maxBody {
		if h.large.Acquire(ctx, 1) != nil {
			return reply{result: failed, code: http.StatusServiceUnavailable, text: errBusy.Error()}
		}
		defer h.large.Release(1)
	}
	body, err := read(r)
	if err != nil {
		return h.fail(body, err)
	}
	elements := untrusted.Elements(body)
	if elements > maxElements {
		return h.fail(body, fmt.Errorf("the review has %d elements, at most %d are accepted", elements, maxElements))
	}
	takes := memoryOf(len(body), elements)
	if h.memory.Acquire(ctx, takes) != nil {
		return h.fail(body, errBusy)
	}
	defer h.memory.Release(takes)
	rep, err := h.decide(body)
	if err != nil {
		return h.fail(body, err)
	}
	return rep
}

// read returns the body, or its beginning and an error.
func read(r *http.Request) ([]byte, error) {
	limit, size := int64(maxBody), max(r.ContentLength, 0)
	if size > maxBody {
		limit, size = headBytes, headBytes
	}
	body := make([]byte, 0, size+1) // one byte more, so that the read that finds the end does not grow body
	for int64(len(body)) <= limit {
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
		n, err := r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF {
			return body, nil
		}
		if err != nil {
			return body, fmt.Errorf("receive the review: %w", err)
		}
	}
	// If this fails, the sender may miss the answer. Nothing else depends on it.
	_, _ = io.CopyN(io.Discard, r.Body, maxDrained)
	return body, errTooLarge
}

// decide answers a review, or returns an error that says why it cannot. A panic of
// Mutate becomes an error.
func (h *handler) decide(body []byte) (rep reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			h.metrics.panics.Inc()
			stack := debug.Stack()
			// messages.md#the-injector: A bug: please report it with `stack`. The pod is created
			// without a sidecar, unless the configuration has `onError: deny`.
			h.log.Error("panic in a decision", "hint", "this is a bug, please report it", "panic", printable.Text(fmt.Sprint(p), names.MaxText), "stack", string(stack[:min(len(stack), maxStack)]))
			rep, err = reply{}, errors.New("the injector has a bug; see its log")
		}
	}()
	req, err := decode(body)
	if err != nil {
		return reply{}, err
	}
	res := &admissionv1.AdmissionResponse{UID: req.UID, Allowed: true}
	if !createsPod(req) {
		return answered(skipped, res), nil
	}
	pod := req.Object.Raw
	if len(pod) == 0 || pod[0] != '{' {
		return reply{}, errors.New("the review has no pod in it")
	}
	d, err := h.mutate(pod, req.Namespace)
	if err != nil {
		return reply{}, fmt.Errorf("inject the pod: %w", err)
	}
	res.Warnings = bounded(d.Warnings)
	operations := 0
	if len(d.Patch) > 0 && d.Denied == "" {
		if operations, err = usablePatch(d.Patch); err != nil {
			return reply{}, err
		}
	}
	if operations > 0 {
		res.Patch, res.PatchType = d.Patch, new(admissionv1.PatchTypeJSONPatch)
	}
	if d.Denied != "" {
		res.Allowed, res.Result = false, &metav1.Status{Code: http.StatusForbidden, Message: printable.Text(d.Denied, names.MaxText)}
	}
	result := d.result()
	h.report(result, req, d, operations)
	return answered(result, res), nil
}

// result returns the label of the metric.
func (d Decision) result() string {
	switch {
	case d.Denied != "":
		return denied
	case d.Refused != "":
		return refused
	case d.Injected:
		return injected
	}
	return unchanged
}

// report logs a decision and counts it if the pod does not get a sidecar that it should have. It does not
// count dry runs, whose pods are never created. A controller does not show the warnings of a pod that it
// creates, so the log has them and the name of the pod's owner.
func (h *handler) report(result string, req *admissionv1.AdmissionRequest, d Decision, operations int) {
	pod, owner, controller := namesOf(req.Object.Raw)
	dryRun := req.DryRun != nil && *req.DryRun
	log := h.log.With("namespace", printable.Text(req.Namespace, names.MaxName), "pod", pod, "owner", owner, "dry_run", dryRun)
	if d.Refused != "" && !dryRun {
		h.metrics.refuse(d.Refused)
	}
	if h.notify != nil && !dryRun && controller != nil && (result == injected || result == refused) {
		h.notify(Notice{Namespace: req.Namespace, Owner: *controller, Injected: result == injected, Warnings: d.Warnings})
	}
	warnings := printable.Text(strings.Join(d.Warnings, "; "), names.MaxText)
	switch {
	case result == denied:
		// messages.md#the-injector: The pod is not created (`onError: deny`); `error` has the reason.
		log.Warn("denied", "reason", d.Refused, "error", printable.Text(d.Denied, names.MaxText))
	case result == refused:
		// messages.md#the-injector: The pod of `owner` starts without a sidecar. `error` has the
		// reason, as does the pod's annotation `ullage.dev/warnings`.
		log.Warn("not injected", "reason", d.Refused, "error", warnings)
	case result == injected && len(d.Warnings) > 0:
		// messages.md#the-injector: The pod of `owner` has its sidecar, but some features are off.
		// `warnings` has the reasons, as does the pod's annotation `ullage.dev/warnings`.
		log.Warn("injected with warnings", "operations", operations, "warnings", warnings)
	case result == injected:
		log.Info("injected", "operations", operations)
	default:
		log.Debug("unchanged")
	}
}

// fail replies to a review without a decision. body is the part of the review
// that was read.
func (h *handler) fail(body []byte, err error) reply {
	why := printable.Text(err.Error(), names.MaxText)
	// messages.md#the-injector: A request was not a valid admission review. Logged at most once a
	// minute; `not_logged` counts the others.
	h.quiet.warn("review failed", "error", why)
	known := readHead(body)
	if !known.answerable() {
		code := http.StatusBadRequest
		if errors.Is(err, errTooLarge) {
			code = http.StatusRequestEntityTooLarge
		}
		return reply{result: failed, code: code, text: why}
	}
	res := &admissionv1.AdmissionResponse{UID: types.UID(known.uid), Allowed: !h.deny}
	if h.deny {
		res.Result = &metav1.Status{Code: http.StatusInternalServerError, Message: "the pod could not be given a log sidecar: " + why}
	} else {
		res.Warnings = []string{"ullage: the pod starts without a log sidecar: " + why}
	}
	rep := answered(failed, res)
	rep.answer.APIVersion = known.apiVersion
	return rep
}

func answered(result string, res *admissionv1.AdmissionResponse) reply {
	return reply{result: result, code: http.StatusOK, answer: &admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: reviewVersion, Kind: reviewKind}, Response: res}}
}

// send writes the reply. It ignores write errors, which mean that the API server is gone.
func send(w http.ResponseWriter, rep reply) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if rep.answer == nil {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(rep.code)
		_, _ = io.WriteString(w, rep.text+"\n")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(rep.answer)
}

// patience returns how long the review may wait for other reviews.
func patience(r *http.Request) time.Duration {
	d, err := time.ParseDuration(r.URL.Query().Get("timeout"))
	if err != nil || d <= 0 {
		return defaultPatience
	}
	return min(d/5*4, maxPatience)
}

// memoryOf returns how much of maxMemory a decision about a review takes: at least enough that
// no more than maxDecisions run at a time, and at most maxMemory.
func memoryOf(size, elements int) int64 {
	return min(max(int64(size)*byteMemory+int64(elements)*elementMemory, maxMemory/maxDecisions), maxMemory)
}
