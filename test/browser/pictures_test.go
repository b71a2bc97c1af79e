package browser

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	shot "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// maxPicture limits the size of a picture in the documents.
const maxPicture = 200 << 10

// TestPicturesOfTheDocuments takes the pictures for the README: of the live page of a JVM with a raised level, and of
// the report about the same log. It writes them to the directory in ULLAGE_PICTURES (make pictures), by default to
// bin/browser.
func TestPicturesOfTheDocuments(t *testing.T) {
	dir := os.Getenv("ULLAGE_PICTURES")
	if dir == "" {
		dir = Pictures
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := collecting{
		tmpfs: "64m",
		notes: "ullage.dev/log=\"gc*=debug\"\nullage.dev/log-for=\"10m\"\n",
		flags: []string{"--pod-name", "web-5d9c7f-x2x8z", "--pod-namespace", "shop"},
		heap:  []string{"-Xmx256m"},
		rate:  "200",
	}
	_, url := c.start(t)
	b := Start(t)
	live := map[string]*Page{}
	for _, dark := range []bool{false, true} {
		v := View{Width: 1100, Height: 640, Dark: dark}
		p := b.Open(t, url, v)
		p.Await("it is ready", `document.querySelector('#state').textContent === 'ready'`)
		p.Await("the level is raised", `document.querySelector('#level').textContent === 'raised'`)
		p.Await("pauses are listed", `document.querySelectorAll('#pauses tbody tr').length >= 5`)
		live[name("live", v)] = p
	}
	// The charts of a live page begin when the page is opened.
	for _, p := range live {
		p.Await("the curves are of more than 30 s", `performance.now() > 32000`)
	}
	for name, p := range live {
		p.top(filepath.Join(dir, name), 1100, 640)
	}
	t.Chdir(filepath.Dir(c.dest)) // the report shows the name that it was given
	address := page(t, filepath.Base(c.dest))
	for _, dark := range []bool{false, true} {
		v := View{Width: 1100, Height: 640, Dark: dark}
		b.Open(t, address, v).top(filepath.Join(dir, name("report", v)), 1100, 640)
	}
}

func name(page string, v View) string {
	if v.Dark {
		return page + "-dark.png"
	}
	return page + "-light.png"
}

// top writes a picture of the upper part of the page.
func (p *Page) top(path string, width, height float64) {
	p.tb.Helper()
	p.Eval(`document.documentElement.style.overflow = 'hidden'`, nil) // no scroll bar
	var png []byte
	p.run("take a picture", chromedp.ActionFunc(func(ctx context.Context) (err error) {
		png, err = shot.CaptureScreenshot().WithClip(&shot.Viewport{Width: width, Height: height, Scale: 1}).Do(ctx)
		return err
	}))
	if len(png) > maxPicture {
		p.tb.Errorf("%s has %d bytes, want at most %d", path, len(png), maxPicture)
	}
	if err := os.WriteFile(path, png, 0o644); err != nil {
		p.tb.Fatal(err)
	}
}
