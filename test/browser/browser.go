package browser

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	shot "github.com/chromedp/cdproto/page" // the tests have a function named page
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/ullage/ullage/test/lab"
)

// Pictures is the directory of the pictures, relative to the tests.
const Pictures = "../../bin/browser"

const patience = lab.Patience

// Browser is a running Chromium. Get one with [Start].
type Browser struct{ ctx context.Context }

// Start starts a browser that ends with the test.
func Start(tb testing.TB) *Browser {
	tb.Helper()
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, // Chromium's own sandbox does not run as root
		chromedp.UserDataDir(tb.TempDir()),
		chromedp.Flag("hide-scrollbars", false),
		chromedp.WSURLReadTimeout(patience))
	ctx, end := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, closeBrowser := chromedp.NewContext(ctx)
	tb.Cleanup(func() {
		// Cancel asks the browser to end and waits for its end; end kills its processes.
		if err := chromedp.Cancel(ctx); err != nil {
			tb.Logf("end the browser: %v", err)
		}
		closeBrowser()
		end()
	})
	if err := chromedp.Run(ctx); err != nil {
		tb.Fatalf("start a browser: %v (make setup installs chromium)", err)
	}
	return &Browser{ctx: ctx}
}

// View is the way in which a page is viewed. Width and Height are in CSS pixels.
type View struct {
	Width, Height int64
	Dark          bool
	Print         bool // as on paper
}

// features returns the media features that a page can ask for.
func (v View) features() []*emulation.MediaFeature {
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	return []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme},
		{Name: "prefers-reduced-motion", Value: "reduce"}, // pictures must show the end of an animation
	}
}

// Page is one tab. Its methods fail the test on an error.
type Page struct {
	tb    testing.TB
	ctx   context.Context
	url   string
	close context.CancelFunc

	mu     sync.Mutex
	faults []string
}

// Open opens a page in a tab of its own and closes it when the test ends. The test then fails if the page did
// anything wrong. Pages share nothing, as if they belonged to different people: each has its own connections.
func (b *Browser) Open(tb testing.TB, url string, v View) *Page {
	tb.Helper()
	// A tab in the background is hidden, so each tab has a window of its own.
	at := chromedp.FromContext(b.ctx).Browser
	do := cdp.WithExecutor(b.ctx, at)
	profile, err := target.CreateBrowserContext().WithDisposeOnDetach(true).Do(do)
	if err != nil {
		tb.Fatalf("make a profile: %v", err)
	}
	id, err := target.CreateTarget("about:blank").WithBrowserContextID(profile).WithNewWindow(true).Do(do)
	if err != nil {
		tb.Fatalf("open a window: %v", err)
	}
	ctx, closeTab := chromedp.NewContext(b.ctx, chromedp.WithTargetID(id))
	p := &Page{tb: tb, ctx: ctx, url: url, close: closeTab}
	chromedp.ListenTarget(ctx, p.event)
	tb.Cleanup(func() {
		closeTab()
		for _, fault := range p.Faults() {
			tb.Errorf("%s: %s", url, fault)
		}
	})
	media := emulation.SetEmulatedMedia().WithFeatures(v.features())
	if v.Print {
		media = media.WithMedia("print")
	}
	p.run("open "+url, chromedp.EmulateViewport(v.Width, v.Height), media, chromedp.Navigate(url))
	return p
}

// run runs actions within the test's patience. The first run attaches to the tab, for as long as that run's context
// lives. That context must therefore not have the deadline.
func (p *Page) run(what string, actions ...chromedp.Action) {
	p.tb.Helper()
	if err := chromedp.Run(p.ctx); err != nil {
		p.tb.Fatalf("%s: open a tab: %v", what, err)
	}
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		p.tb.Fatalf("%s: %v%s", what, err, p.said())
	}
}

// Close closes the tab before the end of the test.
func (p *Page) Close() { p.close() }

// Eval evaluates a JavaScript expression, which may be a promise, and decodes its
// value into a pointer; nil discards the value.
func (p *Page) Eval(expression string, into any) {
	p.tb.Helper()
	p.run("evaluate "+expression, chromedp.Evaluate(expression, into, awaited))
}

// Await waits until a JavaScript expression is true.
func (p *Page) Await(what, expression string) {
	p.tb.Helper()
	deadline := time.Now().Add(patience)
	for {
		var is bool
		p.Eval("Boolean("+expression+")", &is)
		if is {
			return
		}
		if time.Now().After(deadline) {
			p.tb.Fatalf("%s: not true within %s%s", what, patience, p.said())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Press presses keys, in the notation of [chromedp.KeyEvent].
func (p *Page) Press(keys string) {
	p.tb.Helper()
	p.run("press keys", chromedp.KeyEvent(keys))
}

// Picture writes a picture of the whole page, NAME.png, into [Pictures]. For this, the browser lays out the page
// without scroll bars, so the picture is as wide as the window.
func (p *Page) Picture(name string) {
	p.tb.Helper()
	var png []byte
	var size struct{ Width, Height float64 }
	p.Eval(`({Width: innerWidth, Height: document.documentElement.scrollHeight})`, &size)
	p.run("take a picture", chromedp.ActionFunc(func(ctx context.Context) (err error) {
		png, err = shot.CaptureScreenshot().WithCaptureBeyondViewport(true).
			WithClip(&shot.Viewport{Width: size.Width, Height: size.Height, Scale: 1}).Do(ctx)
		return err
	}))
	if err := os.MkdirAll(Pictures, 0o755); err != nil {
		p.tb.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(Pictures, name+".png"), png, 0o644); err != nil {
		p.tb.Fatal(err)
	}
}
