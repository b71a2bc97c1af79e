package webhook

import (
	"bytes"
	"fmt"
	"io"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/base/untrusted"
	"github.com/ullage/ullage/internal/kube/names"
)

func TestALargeReviewIsAnsweredFromItsHead(t *testing.T) {
	for _, c := range []struct {
		name  string
		size  int
		known bool // whether the request states its length
		want  string
	}{
		{"the largest", maxBody, true, injected},
		{"one byte more", maxBody + 1, true, failed},
		{"the largest, of unknown length", maxBody, false, injected},
		{"one byte more, of unknown length", maxBody + 1, false, failed},
		{"10 MiB", 10 << 20, true, failed},
		{"10 MiB of unknown length", 10 << 20, false, failed},
		{"one byte larger than a small review", smallBody + 1, true, injected},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, _, _ := testHandler(false)
			text := body("web", `"field":1`, `"field":"`+strings.Repeat("x", c.size-len(body("web"))-1)+`"`)
			var in io.Reader = strings.NewReader(text)
			if !c.known {
				in = io.MultiReader(in)
			}
			r := httptest.NewRequest("POST", "/mutate", in)
			r.Header.Set("Content-Type", "application/json; charset=utf-8")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			a := parsed(t, w)
			if len(text) != c.size || !a.Response.Allowed || a.Response.UID != "u-1" || testutil.ToFloat64(h.metrics.reviews.WithLabelValues(c.want)) != 1 {
				t.Errorf("%d bytes: %+v, want %d bytes, UID u-1, the pod allowed, and one review counted as %s", len(text), a.Response, c.size, c.want)
			}
			if (c.want == failed) != strings.Contains(strings.Join(a.Response.Warnings, ""), "larger than 3 MiB") {
				t.Errorf("the warnings are %q, want \"larger than 3 MiB\" in them: %t", a.Response.Warnings, c.want == failed)
			}
		})
	}
}

func TestABusyServerAnswersBeforeTheAPIServerGivesUp(t *testing.T) {
	h, _, _ := testHandler(false)
	for range maxDecisions {
		if !h.memory.TryAcquire(memoryOf(len(body("web")), untrusted.Elements([]byte(body("web"))))) {
			t.Fatalf("fewer than %d decisions about small reviews run at a time", maxDecisions)
		}
	}
	r := httptest.NewRequest("POST", "/mutate?timeout=100ms", strings.NewReader(body("web")))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if a := parsed(t, w); !a.Response.Allowed || !strings.Contains(a.Response.Warnings[0], "busy") {
		t.Errorf(`the answer is %+v, want Allowed true and "busy" in it`, a.Response)
	}
	h.large.TryAcquire(maxLarge)
	r = httptest.NewRequest("POST", "/mutate?timeout=100ms", io.MultiReader(strings.NewReader(body("web"))))
	r.Header.Set("Content-Type", "application/json")
	w = httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != 503 {
		t.Errorf("a large review while others are in memory: status %d, want 503", w.Code)
	}
}

// An element can have 3 bytes in the review and a kilobyte in memory.
func TestAReviewOfTooManyElementsIsAnsweredWithoutDecodingIt(t *testing.T) {
	with := func(elements int) string {
		more := elements - untrusted.Elements([]byte(body("web")))
		return body("web", `{"field":1}`, "["+strings.Repeat("{},", more)+"{}]")
	}
	h, _, _ := testHandler(false)
	if a := parsed(t, post(h, with(maxElements))); len(a.Response.Patch) == 0 {
		t.Errorf("a review with the maximum number of elements: %+v, want a patch", a.Response)
	}
	h.mutate = func([]byte, string) (Decision, error) { panic("it is decoded") }
	for _, elements := range []int{maxElements + 1, 100_000, 900_000} {
		var before, after runtime.MemStats
		text := with(elements)
		runtime.ReadMemStats(&before)
		a := parsed(t, post(h, text))
		runtime.ReadMemStats(&after)
		if !a.Response.Allowed || a.Response.UID != "u-1" || len(a.Response.Warnings) != 1 || !strings.Contains(a.Response.Warnings[0], fmt.Sprintf("has %d elements, at most 20000", elements)) {
			t.Errorf("%d elements: %+v, want UID u-1, the pod allowed, and one warning that names the number of elements and the maximum of 20000", elements, a.Response)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(len(text))+1<<20 {
			t.Errorf("%d elements in %d bytes took %d bytes of memory, want at most %d", elements, len(text), took, uint64(len(text))+1<<20)
		}
	}
	if n := testutil.ToFloat64(h.metrics.panics); n != 0 {
		t.Errorf("%v reviews with too many elements were decoded, want 0", n)
	}
}

// Reviews with many elements wait for one another; small reviews do not wait.
func TestDecisionsAreWeighedByWhatTheyTake(t *testing.T) {
	for _, c := range []struct {
		size, elements int
		together       int // how many decisions run at a time
	}{{1000, 30, maxDecisions}, {10 << 10, 500, maxDecisions}, {64 << 10, 5000, maxDecisions - 2}, {60_000, 20_000, 1}, {maxBody, maxElements, 1}, {maxBody, 500, 1}} {
		h, _, _ := testHandler(false)
		together := 0
		for h.memory.TryAcquire(memoryOf(c.size, c.elements)) {
			together++
		}
		if together != c.together {
			t.Errorf("%d decisions about reviews of %d bytes and %d elements run at a time, want %d", together, c.size, c.elements, c.together)
		}
	}
}

func TestHowLongAReviewMayWait(t *testing.T) {
	for query, want := range map[string]time.Duration{
		"": 4 * time.Second, "?timeout=5s": 4 * time.Second, "?timeout=30s": 10 * time.Second, "?timeout=1s": 800 * time.Millisecond,
		"?timeout=x": 4 * time.Second, "?timeout=-1s": 4 * time.Second, "?timeout=2562047h": 10 * time.Second,
	} {
		if got := patience(httptest.NewRequest("POST", "/mutate"+query, nil)); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
}

func TestWarningsAreBounded(t *testing.T) {
	h, _, _ := testHandler(false)
	a := parsed(t, post(h, body("verbose")))
	const last = "and 70 more warnings"
	if got := a.Response.Warnings; len(got) != maxWarnings || got[maxWarnings-1] != last {
		t.Errorf("%d warnings, want %d, the last %q: %q", len(got), maxWarnings, last, got)
	}
	if got := bounded([]string{strings.Repeat("ü\n", 5000)}); len(got) != 1 || len(got[0]) > names.MaxText+4 || strings.ContainsAny(got[0], "\n") {
		t.Errorf("the warnings are %.600q, want one of at most %d bytes without a newline", got, names.MaxText+4)
	}
}

func TestStrangersCannotFillTheLog(t *testing.T) {
	h, log, _ := testHandler(false)
	for range 1000 {
		post(h, "\x1b[31mgarbage")
		fmt.Fprintln(h.quiet, "http: TLS handshake error from 10.0.0.1:7: EOF")
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("%d lines, want 1: %s", n, log)
	}
}

func FuzzReview(f *testing.F) {
	for _, text := range []string{body("web"), body("denied"), body("panic"), body("bad-patch"), body("web", "io/v1", "io/v2"), body("web")[:123], "null", `{"request":{"uid":"x"}}`, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":""}}`} {
		f.Add([]byte(text), true)
	}
	quietly, _, _ := testHandler(false)
	denying, _, _ := testHandler(true)
	f.Fuzz(func(t *testing.T, text []byte, deny bool) {
		h := quietly
		if deny {
			h = denying
		}
		r := httptest.NewRequest("POST", "/mutate", bytes.NewReader(text))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch w.Code {
		case 200:
			a := parsed(t, w)
			if !a.Response.Allowed && a.Response.Result == nil || a.Response.Result != nil && a.Response.Result.Code < 400 {
				t.Fatalf("the answer has no valid result: %+v", a.Response)
			}
		case 400, 413:
			if w.Body.Len() == 0 || w.Body.Len() > 2*names.MaxText {
				t.Fatalf("the answer has code %d and body %q, want a body of at most %d bytes that is not empty", w.Code, w.Body, 2*names.MaxText)
			}
		default:
			t.Fatalf("the answer has code %d and body %q, want code 200, 400 or 413", w.Code, w.Body)
		}
	})
}
