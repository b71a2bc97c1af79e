package browser

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	shot "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/ullage/ullage/test/jvm"
	"github.com/ullage/ullage/test/lab"
)

// maxPicture bounds a picture of the documents.
const maxPicture = 200 << 10

// TestPicturesOfTheDocuments takes the pictures of the README: of the live page beside a JVM whose
// level is raised, and of the report about the same log. They go where ULLAGE_PICTURES says (make
// pictures), otherwise into bin/browser.
func TestPicturesOfTheDocuments(t *testing.T) {
	dir := os.Getenv("ULLAGE_PICTURES")
	if dir == "" {
		dir = Pictures
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	url, dest := collecting(t)
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
	// The charts of the live page begin when it is opened.
	for _, p := range live {
		p.Await("the curves are of more than 30 s", `performance.now() > 32000`)
	}
	for name, p := range live {
		p.top(filepath.Join(dir, name), 1100, 640)
	}
	address := page(t, dest)
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

// collecting starts a sidecar beside a JVM that collects garbage, and raises the level of the
// JVM. It returns the address of the live page, and the destination.
func collecting(t *testing.T) (url, dest string) {
	t.Helper()
	jdks, err := lab.JDKs()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	classes, err := jvm.Compile(jdks[0], filepath.Join(dir, "java"))
	if err != nil {
		t.Fatal(err)
	}
	source, notes := lab.Tmpfs(t, "64m"), filepath.Join(dir, "annotations")
	dest = filepath.Join(dir, "durable")
	if err := os.WriteFile(notes, []byte("ullage.dev/log=\"gc*=debug\"\nullage.dev/log-for=\"10m\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	side, err := lab.Start(filepath.Join(programs, "ullage"), "run", "--source", source, "--dest", dest, "--listen", "127.0.0.1:0",
		"--annotations", notes, "--attach", "process-namespace", "--pod-name", "web-5d9c7f-x2x8z", "--pod-namespace", "shop")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(side.Kill)
	out := jvm.Output{Selection: "gc*=info,safepoint=info", File: filepath.Join(source, "gc.log"), Decorations: "time,uptime,level,tags"}
	java, err := jvm.Start(jdks[len(jdks)-1], "-Xmx256m", "-XX:+StartAttachListener", "-cp", classes, out.Flag(), "Churn", "600000", "200")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(java.Kill)
	addr, err := side.Addr(patience)
	if err != nil {
		t.Fatal(err)
	}
	return "http://" + addr + "/", dest
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
		p.tb.Errorf("%s has %d bytes, at most %d are allowed", path, len(png), maxPicture)
	}
	if err := os.WriteFile(path, png, 0o644); err != nil {
		p.tb.Fatal(err)
	}
}
