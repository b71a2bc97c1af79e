package admin

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// browse sends a request as a browser does.
func (r *rig) browse(t *testing.T, path string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequest("GET", r.base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body), resp.Header
}

// between returns the text of the page's only element with the given tag.
func between(t *testing.T, page, tag string) string {
	t.Helper()
	_, rest, begins := strings.Cut(page, "<"+tag+">")
	text, rest, ends := strings.Cut(rest, "</"+tag+">")
	if !begins || !ends || strings.Contains(rest, "<"+tag) {
		t.Fatalf("the page does not have exactly one %s", tag)
	}
	return text
}

func TestThePageRunsItsOwnScriptAndNoOther(t *testing.T) {
	r := start(t, nil, nil)
	code, body, header := r.browse(t, "/")
	if code != 200 || header.Get("Content-Type") != "text/html; charset=utf-8" || header.Get("Cache-Control") != "no-store" || header.Get("X-Content-Type-Options") != "nosniff" {
		t.Fatalf("the page has code %d and the headers %v; want 200, HTML in UTF-8, no-store and nosniff", code, header)
	}
	const most = 60 << 10
	t.Logf("the page has %d bytes, %d at most", len(body), most)
	if len(body) > most {
		t.Errorf("the page has %d bytes, want at most %d", len(body), most)
	}
	policy := header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %s", policy, want)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf(`the policy %q allows unsafe sources, want no "unsafe" in it`, policy)
	}
	for tag, directive := range map[string]string{"script": "script-src", "style": "style-src"} {
		sum := sha256.Sum256([]byte(between(t, body, tag)))
		if want := directive + " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, want+";") {
			t.Errorf("the policy %q lacks %s", policy, want)
		}
	}
	for _, never := range []string{"innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(", "/*style*/", "/*script*/"} {
		if strings.Contains(body, never) {
			t.Errorf("the page contains %s, want it nowhere", never)
		}
	}
	outside := regexp.MustCompile(`(?:src|href)="(?:[a-z]+:)?//|url\(|@import`)
	if found := outside.FindString(body); found != "" {
		t.Errorf("the page loads from outside: %s, want nothing", found)
	}
}

func TestOnlyTheRootIsThePage(t *testing.T) {
	r := start(t, nil, func() any { return Status{} })
	for path, want := range map[string]struct {
		code int
		kind string
	}{
		"/":               {200, "text/html; charset=utf-8"},
		"/?x=1":           {200, "text/html; charset=utf-8"},
		"/index.html":     {404, "text/plain; charset=utf-8"},
		"/live":           {404, "text/plain; charset=utf-8"},
		"/live.js":        {404, "text/plain; charset=utf-8"},
		"/live/page.html": {404, "text/plain; charset=utf-8"},
		"/status":         {200, "application/json"},
		"/recent":         {200, "application/json"},
	} {
		if code, _, header := r.browse(t, path); code != want.code || header.Get("Content-Type") != want.kind {
			t.Errorf("%s: %d %s, want %d %s", path, code, header.Get("Content-Type"), want.code, want.kind)
		}
	}
	// Clients such as curl, which do not ask for HTML, get text.
	if _, body, header := r.do(t, "GET", "/"); !strings.Contains(body, "/readyz") || header.Get("Vary") != "Accept" {
		t.Errorf("want a text with /readyz in it, and Vary: Accept; got the headers %v and the body\n%s", header, body)
	}
}

// The injector uses the same server, without the page and without events.
func TestAServerWithoutEventsHasNoPage(t *testing.T) {
	mux := newMux(prometheus.NewRegistry(), Answers{}, slog.New(slog.DiscardHandler))
	for path, code := range map[string]int{"/": 200, "/recent": 404} {
		req := httptest.NewRequest("GET", path, nil)
		req.Header.Set("Accept", "text/html")
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, req)
		if kind := answer.Header().Get("Content-Type"); answer.Code != code || kind != "text/plain; charset=utf-8" || strings.Contains(answer.Body.String(), "recent") {
			t.Errorf("%s: got %d %s; want %d, plain text in UTF-8, and no \"recent\" in it:\n%s", path, answer.Code, kind, code, answer.Body)
		}
	}
}
