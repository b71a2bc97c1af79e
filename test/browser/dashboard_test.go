package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTheDashboardShowsSomethingInEachPanel inspects the chart's dashboard, drawn from the metrics that a real
// Prometheus scraped from a real sidecar. The tests of the chart draw it.
func TestTheDashboardShowsSomethingInEachPanel(t *testing.T) {
	file, err := filepath.Abs(filepath.Join(Pictures, "dashboard.html"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		out, err := exec.Command("go", "test", "-C", "../..", "-count=1", "-run", "^TestEveryQueryHasAnAnswer$", "./test/chart").CombinedOutput()
		if err != nil {
			t.Fatalf("draw the dashboard: %v\n%s", err, out)
		}
	}
	b := Start(t)
	for _, v := range []View{{Width: 1600, Height: 1000}, {Width: 1600, Height: 1000, Dark: true}, {Width: 1100, Height: 900}, {Width: 390, Height: 844}} {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			p := b.Open(t, "file://"+file, v)
			if n := value[int](p, `document.querySelectorAll("section").length`); n < 40 {
				t.Errorf("the dashboard has %d panels, want at least 40", n)
			}
			for _, fault := range value[[]string](p, emptyPanels) {
				t.Errorf("a panel shows no data or no figures, want both: %s", fault)
			}
			p.Inspect()
			p.Picture("dashboard-" + v.String())
		})
	}
}

// emptyPanels lists the panels that show no data or whose axes show no figures.
const emptyPanels = `[...document.querySelectorAll("section")].filter((panel) => {
	const marks = [...panel.querySelectorAll("path.series, rect.cell")].filter((m) => m.getBBox().width > 0);
	const figures = [...panel.querySelectorAll("text.value, .stat p")].filter((e) => /\d/.test(e.textContent));
	return panel.className === "stat" ? !/\d/.test(panel.querySelector("p").textContent) : marks.length === 0 || figures.length < 2;
}).map((panel) => panel.textContent)`
