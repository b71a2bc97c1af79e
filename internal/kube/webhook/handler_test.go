package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/ullage/ullage/test/lab"
)

const testPatch = `[{"op":"add","path":"/spec/x","value":1}]`

// mutateTest decides by the pod's name.
func mutateTest(pod []byte, namespace string) (Decision, error) {
	var p struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(pod, &p)
	switch p.Metadata.Name {
	case "unchanged":
		return Decision{}, nil
	case "no-operations":
		return Decision{Patch: []byte("[]"), Warnings: []string{"bad annotation"}}, nil
	case "denied":
		return Decision{Warnings: []string{"w"}, Refused: "annotation", Denied: "annotation ullage.dev/buffer is bad"}, nil
	case "refused":
		return Decision{Patch: []byte(testPatch), Warnings: []string{"not injected: ullage.dev/bufer:\nunknown"}, Refused: "annotation"}, nil
	case "error":
		return Decision{Patch: []byte(testPatch)}, errors.New("cannot\ndecide")
	case "panic":
		panic("bug\nin mutate")
	case "bad-patch":
		return Decision{Patch: []byte(`{"op":"add"}`)}, nil
	case "verbose":
		return Decision{Patch: []byte(testPatch), Injected: true, Warnings: append(make([]string, 100), strings.Repeat("ü\n", 5000))}, nil
	case "clean":
		return Decision{Patch: []byte(testPatch), Injected: true}, nil
	}
	return Decision{Patch: []byte(testPatch), Injected: true, Warnings: []string{"dest is emptyDir in " + namespace}}, nil
}

func testHandler(deny bool) (*handler, *lab.Journal, *prometheus.Registry) {
	log, reg := &lab.Journal{}, prometheus.NewRegistry()
	return newHandler(Config{DenyOnError: deny}, mutateTest, newMetrics(reg, []string{"annotation", "name"}), log.Logger()), log, reg
}

// body returns a review of the creation of a pod with this name. replace has pairs of a text in the review and its
// replacement.
func body(pod string, replace ...string) string {
	text := fmt.Sprintf(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1","kind":{"group":"","version":"v1","kind":"Pod"},`+
		`"resource":{"group":"","version":"v1","resource":"pods"},"name":"x","namespace":"shop","operation":"CREATE","userInfo":{"username":"u"},`+
		`"object":{"metadata":{"name":%q},"spec":{"new":{"field":1}}},"oldObject":null,"dryRun":false,"options":null}}`, pod)
	return strings.NewReplacer(replace...).Replace(text)
}

func post(h http.Handler, text string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/mutate?timeout=5s", strings.NewReader(text))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// parsed returns the answer as an API server reads it.
func parsed(t *testing.T, w *httptest.ResponseRecorder) admissionv1.AdmissionReview {
	t.Helper()
	var a admissionv1.AdmissionReview
	d := json.NewDecoder(w.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		t.Fatalf("an answer with code %d is not a review: %v", w.Code, err)
	}
	if a.Kind != "AdmissionReview" || a.Request != nil || a.Response == nil || a.Response.UID == "" ||
		(len(a.Response.Patch) > 0) != (a.Response.PatchType != nil && *a.Response.PatchType == "JSONPatch") {
		t.Fatalf("the answer is %+v, want an AdmissionReview with a response, its UID, and no request; a patch needs the type JSONPatch", a)
	}
	return a
}

func TestWhatBecomesOfAReview(t *testing.T) {
	for _, c := range []struct {
		name, text string
		result     string
		allowed    bool
		patched    bool
		says       string // in a warning, or in the message of a denial
	}{
		{"a pod", body("web"), injected, true, true, "dest is emptyDir in shop"},
		{"a dry run", body("web", `"dryRun":false`, `"dryRun":true`), injected, true, true, "emptyDir"},
		{"a pod that stays as it is", body("unchanged"), unchanged, true, false, ""},
		{"a patch without operations", body("no-operations"), unchanged, true, false, "bad annotation"},
		{"a pod that cannot be injected", body("refused"), refused, true, true, "unknown"},
		{"a pod that must not start", body("denied"), denied, false, false, "ullage.dev/buffer is bad"},
		{"an error", body("error"), failed, true, false, "without a log sidecar: inject the pod: cannot decide"},
		{"a panic", body("panic"), failed, true, false, "the injector has a bug"},
		{"a patch that an API server cannot read", body("bad-patch"), failed, true, false, "not a list of operations"},
		{"an update", body("web", "CREATE", "UPDATE"), skipped, true, false, ""},
		{"a deletion", body("web", "CREATE", "DELETE"), skipped, true, false, ""},
		{"a binding", body("web", `"name":"x"`, `"subResource":"binding"`), skipped, true, false, ""},
		{"another resource", body("web", `"resource":"pods"`, `"resource":"secrets"`), skipped, true, false, ""},
		{"a resource of another group", body("web", `"resource":{"group":""`, `"resource":{"group":"example.com"`), skipped, true, false, ""},
		{"another kind of object", body("web", `"kind":"Pod"`, `"kind":"PodTemplate"`), skipped, true, false, ""},
		{"no object", body("web", `"object":{"metadata":{"name":"web"},"spec":{"new":{"field":1}}}`, `"object":null`), failed, true, false, "no pod in it"},
		{"an object that is a list", body("web", `"object":{"metadata":{"name":"web"},"spec":{"new":{"field":1}}}`, `"object":[]`), failed, true, false, "no pod in it"},
		{"an object that is a text", body("web", `"object":{"metadata":{"name":"web"},"spec":{"new":{"field":1}}}`, `"object":"x"`), failed, true, false, "no pod in it"},
		{"truncated", body("web")[:300], failed, true, false, "read the admission review"},
		{"truncated after the uid", body("web")[:100], failed, true, false, "read the admission review"},
		{"garbage after the review", body("web") + "x", failed, true, false, "read the admission review"},
		{"another version", body("web", "admission.k8s.io/v1", "admission.k8s.io/v1beta1"), failed, true, false, "admissionReviewVersions must be [v1]"},
		{"a wrong type", body("web", `"operation":"CREATE"`, `"operation":7`), failed, true, false, "read the admission review"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, _, _ := testHandler(false)
			w := post(h, c.text)
			if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" {
				t.Fatalf("the answer has code %d, type %s and body %s, want code 200 and type application/json", w.Code, w.Header().Get("Content-Type"), w.Body)
			}
			a := parsed(t, w)
			says := strings.Join(a.Response.Warnings, "\n")
			if s := a.Response.Result; s != nil {
				says = s.Message
			}
			if a.Response.UID != "u-1" || a.Response.Allowed != c.allowed || (len(a.Response.Patch) > 0) != c.patched || !strings.Contains(says, c.says) || c.says == "" && says != "" {
				t.Errorf("%+v, status %+v; want UID u-1, allowed: %t, a patch: %t, and the text %q", a.Response, a.Response.Result, c.allowed, c.patched, c.says)
			}
			if n := testutil.ToFloat64(h.metrics.reviews.WithLabelValues(c.result)); n != 1 {
				t.Errorf("%v reviews are counted as %s, want 1", n, c.result)
			}
		})
	}
}

// An API server decodes these bytes. A new version of a library must not change
// them unnoticed.
func TestTheBytesOfAnAnswer(t *testing.T) {
	const begin = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"u-1",`
	for pod, want := range map[string]string{
		"web":       `"allowed":true,"patch":"W3sib3AiOiJhZGQiLCJwYXRoIjoiL3NwZWMveCIsInZhbHVlIjoxfV0=","patchType":"JSONPatch","warnings":["dest is emptyDir in shop"]}}`,
		"unchanged": `"allowed":true}}`,
		"denied":    `"allowed":false,"status":{"metadata":{},"message":"annotation ullage.dev/buffer is bad","code":403},"warnings":["w"]}}`,
		"error":     `"allowed":true,"warnings":["ullage: the pod starts without a log sidecar: inject the pod: cannot decide"]}}`,
	} {
		h, _, _ := testHandler(false)
		if got := strings.TrimSpace(post(h, body(pod)).Body.String()); got != begin+want {
			t.Errorf("%s:\n%s, want\n%s", pod, got, begin+want)
		}
	}
}

func TestErrorsDenyWhereThatIsAskedFor(t *testing.T) {
	h, _, _ := testHandler(true)
	for _, text := range []string{body("error"), body("panic"), body("web")[:200], body("bad-patch"), body("web", "io/v1", "io/v1beta1")} {
		a := parsed(t, post(h, text))
		if a.Response.Allowed || a.Response.Result == nil || a.Response.Result.Code != 500 || !strings.Contains(a.Response.Result.Message, "log sidecar: ") {
			t.Errorf("%+v, status %+v; want it denied with code 500 and \"log sidecar: \" in the message", a.Response, a.Response.Result)
		}
	}
	if a := parsed(t, post(h, body("unchanged"))); !a.Response.Allowed {
		t.Error("a pod without errors is denied, want it allowed")
	}
	if a := parsed(t, post(h, body("web", "CREATE", "UPDATE"))); !a.Response.Allowed {
		t.Error("a review that is not of a pod's creation is denied, want it allowed")
	}
}

func TestAnAnswerHasTheVersionOfItsReview(t *testing.T) {
	h, _, _ := testHandler(false)
	if a := parsed(t, post(h, body("web", "io/v1", "io/v1beta1"))); a.APIVersion != "admission.k8s.io/v1beta1" {
		t.Errorf(`the answer has version %q, want "admission.k8s.io/v1beta1"`, a.APIVersion)
	}
	if a := parsed(t, post(h, body("web"))); a.APIVersion != "admission.k8s.io/v1" {
		t.Errorf(`the answer has version %q, want "admission.k8s.io/v1"`, a.APIVersion)
	}
}

func TestWhatHasNoUidGetsAText(t *testing.T) {
	h, _, _ := testHandler(false)
	for _, c := range []struct {
		name, text string
		code       int
		says       string
	}{
		{"nothing", "", 400, "unexpected end"},
		{"no JSON", "<html>", 400, "invalid character"},
		{"null", "null", 400, "not AdmissionReview"},
		{"a list", "[]", 400, "cannot unmarshal"},
		{"another kind", body("web", `"kind":"AdmissionReview"`, `"kind":"ConversionReview"`), 400, `"ConversionReview"`},
		{"another group", body("web", "admission.k8s.io", "apiextensions.k8s.io"), 400, `"apiextensions.k8s.io/v1"`},
		{"no kind", body("web", `"kind":"AdmissionReview",`, ``), 400, "not AdmissionReview"},
		{"no uid", body("web", `"uid":"u-1",`, ``), 400, "no request with a uid"},
		{"a uid that is a number", body("web", `"u-1"`, `7`), 400, "cannot unmarshal"},
		{"no request", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, 400, "no request with a uid"},
		{"truncated before the uid", body("web")[:70], 400, "unexpected end"},
		{"deeply nested", strings.Repeat(`{"request":`, 20000), 400, "exceeded max depth"},
		{"too large, without a uid", strings.Repeat(" ", maxBody+1), 413, "larger than 3 MiB"},
	} {
		if w := post(h, c.text); w.Code != c.code || !strings.Contains(w.Body.String(), c.says) || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
			t.Errorf("%s: the answer has code %d, type %q and body %q, want the error of this case as text/plain", c.name, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
	}
	r := httptest.NewRequest("POST", "/mutate", strings.NewReader(body("web")))
	for _, kind := range []string{"", "text/plain", "application/json; =", "application/vnd.kubernetes.protobuf"} {
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != 415 {
			t.Errorf("content type %q: %d, want 415", kind, w.Code)
		}
	}
}

func TestAPanicLeavesNothingBehind(t *testing.T) {
	h, log, _ := testHandler(false)
	for range maxDecisions + 1 {
		post(h, body("panic"))
	}
	if a := parsed(t, post(h, body("web"))); len(a.Response.Patch) == 0 {
		t.Errorf("after the panics the answer is %+v, want a patch", a.Response)
	}
	if n := testutil.ToFloat64(h.metrics.panics); n != maxDecisions+1 {
		t.Errorf("%v panics are counted, want maxDecisions+1", n)
	}
	if !strings.Contains(log.String(), "panic=\"bug in mutate\"") || !strings.Contains(log.String(), "mutateTest") {
		t.Errorf("the log does not say where the panic was: %s", log)
	}
}
