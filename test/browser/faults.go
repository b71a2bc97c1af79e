package browser

import (
	_ "embed"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// inspect is an expression. Its value is a list of texts, one for each fault.
//
//go:embed inspect.js
var inspect string

// Inspect fails the test with all faults of the page as shown at the moment.
func (p *Page) Inspect() {
	p.tb.Helper()
	for _, fault := range p.Look() {
		p.tb.Errorf("%s shows a fault: %s", p.url, fault)
	}
}

// Look returns all faults of the page as shown at the moment.
func (p *Page) Look() (faults []string) {
	p.tb.Helper()
	p.Eval(inspect, &faults)
	return faults
}

// Faults returns the mistakes of the page so far, in words, each once.
func (p *Page) Faults() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.faults)
}

// Forgive forgets the mistakes of the page so far: if a test ends the server, requests fail.
func (p *Page) Forgive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = nil
}

func (p *Page) said() string {
	if faults := p.Faults(); len(faults) > 0 {
		return "; the page reported:\n" + strings.Join(faults, "\n")
	}
	return ""
}

// event records a page's mistakes. The browser's connection calls it, so it must not wait.
func (p *Page) event(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.note("a script failed: " + e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning || e.Type == runtime.APITypeAssert {
			p.note(fmt.Sprintf("console.%s: %s", e.Type, values(e.Args)))
		}
	case *log.EventEntryAdded: // a failed request and a broken policy, among others
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			p.note(fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *network.EventRequestWillBeSent:
		if !p.own(e.Request.URL) {
			p.note("a request leaves the page: " + e.Request.URL)
		}
	}
}

// own reports whether a request goes to the page's own server or directory.
func (p *Page) own(request string) bool {
	page, err := url.Parse(p.url)
	if err != nil {
		return false
	}
	to, err := url.Parse(request)
	return err == nil && (to.Scheme == "data" || to.Scheme == "blob" || to.Scheme == page.Scheme && to.Host == page.Host)
}

func (p *Page) note(fault string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.faults) < 50 && !slices.Contains(p.faults, fault) {
		p.faults = append(p.faults, fault)
	}
}

func values(args []*runtime.RemoteObject) string {
	var texts []string
	for _, a := range args {
		text := string(a.Value)
		if text == "" {
			text = a.Description
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " ")
}

// awaited waits for the value of a promise.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

var _ chromedp.EvaluateOption = awaited
