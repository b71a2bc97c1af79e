package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// The other tests rely on Look finding no fault, which means nothing unless it finds faults
// that exist.
func TestFaultsOfAPageAreFound(t *testing.T) {
	const well = `<!doctype html><html lang="en"><title>Page</title><main><h1>Page</h1><p>Text</p>%s</main>`
	b := Start(t)
	for name, c := range map[string]struct{ body, policy, want string }{
		"no fault":           {body: `<svg aria-label="Bars" width="50" height="20"><rect width="9" height="9"/></svg>`},
		"script":             {body: `<script>undefinedFunction()</script>`, want: "undefinedFunction"},
		"console":            {body: `<script>console.error('broken', 1)</script>`, want: "broken"},
		"policy":             {body: `<script>document.title = 'x'</script>`, policy: "default-src 'none'", want: "Content Security Policy"},
		"missing file":       {body: `<img alt="x" src="/none.png">`, want: "404"},
		"foreign request":    {body: `<img alt="x" src="http://192.0.2.1/x.png">`, policy: "default-src 'none'; img-src 'self'", want: "192.0.2.1"},
		"overlap":            {body: `<p style="position:relative; top:-30px">Over</p>`, want: "text overlaps"},
		"wide":               {body: `<p style="width:5000px">Wide</p>`, want: "px wide in a window of"},
		"cut":                {body: `<p style="width:40px; overflow:hidden; white-space:nowrap">A long long text</p>`, want: "text is cut off"},
		"contrast":           {body: `<p style="color:#aaa">Grey</p>`, want: "contrast of 2.3"},
		"mark of no number":  {body: `<svg aria-label="Bars" width="50" height="20"><rect width="9" height="9" fill="NaN"/></svg>`, want: "NaN"},
		"mark outside":       {body: `<svg aria-label="Bars" width="50" height="20" style="overflow:visible"><rect x="90" width="9" height="9"/></svg>`, want: "leaves its picture"},
		"mistake":            {body: `<p>NaN ms</p>`, want: "a mistake is shown"},
		"picture, no name":   {body: `<svg width="50" height="20"><rect width="9" height="9"/></svg>`, want: "a picture has no name"},
		"button without one": {body: `<button></button>`, want: "has no name"},
		"table":              {body: `<table><tr><td>1</td></tr></table>`, want: "a table has no caption"},
		"same id":            {body: `<i id="a">1</i> <i id="a">2</i>`, want: "the id a"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/favicon.ico":
					w.WriteHeader(http.StatusNoContent)
				case r.URL.Path != "/":
					http.NotFound(w, r)
				default:
					if c.policy != "" {
						w.Header().Set("Content-Security-Policy", c.policy)
					}
					w.Header().Set("Content-Type", "text/html; charset=utf-8")
					fmt.Fprintf(w, well, c.body)
				}
			}))
			// The server outlives the page, because no test waits for the page's last request, which is for an icon.
			t.Cleanup(server.Close)
			p := b.Open(t, server.URL+"/", View{Width: 800, Height: 600})
			found := slices.Concat(p.Look(), p.Faults())
			p.Forgive()
			if c.want == "" && len(found) > 0 || !strings.Contains(strings.Join(found, "\n"), c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}
