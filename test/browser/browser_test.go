package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// program is the ullage that the tests build.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "ullage-browser-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	program = filepath.Join(dir, "ullage")
	build := exec.Command("go", "build", "-o", program, "./cmd/ullage")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build ullage: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// open starts the browser, which ends with the test.
func open(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-dev-shm-usage", true))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Run(ctx); err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	return ctx
}

// complaints are the errors of scripts, and what the browser has refused to load or run.
type complaints struct {
	mu   sync.Mutex
	text []string
}

func listen(ctx context.Context) *complaints {
	c := &complaints{}
	chromedp.ListenTarget(ctx, func(event any) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			c.text = append(c.text, e.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			c.text = append(c.text, e.Entry.Text)
		case *runtime.EventConsoleAPICalled:
			c.text = append(c.text, string(e.Type))
		}
	})
	return c
}

func (c *complaints) check(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.text) > 0 {
		t.Errorf("the browser complains: %s", strings.Join(c.text, "; "))
	}
	c.text = nil
}

// page makes a report of logs and returns its address.
func page(t *testing.T, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	out, err := exec.CommandContext(t.Context(), program, append([]string{"report", "--output", path}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("ullage report: %v\n%s", err, out)
	}
	return "file://" + path
}

// look shows a page with a width and a scheme of colors.
func look(width int64, scheme string) chromedp.Action {
	return chromedp.Tasks{
		chromedp.EmulateViewport(width, 900),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
	}
}

// picture keeps a picture of the whole page for people to look at.
func picture(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	dir := os.Getenv("ULLAGE_PICTURES")
	if dir == "" {
		return
	}
	var image []byte
	if err := chromedp.Run(ctx, chromedp.FullScreenshot(&image, 100)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), image, 0o644); err != nil {
		t.Fatal(err)
	}
}

// evaluate returns the value of an expression in the page.
func evaluate[T any](t *testing.T, ctx context.Context, expression string) (value T) {
	t.Helper()
	if err := chromedp.Run(ctx, chromedp.Evaluate(expression, &value)); err != nil {
		t.Fatalf("%.80s: %v", expression, err)
	}
	return value
}
