package chart

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGoldens holds what helm renders of the value files against the files in
// testdata/golden.
func TestGoldens(t *testing.T) {
	for _, r := range renderings {
		t.Run(r.name, func(t *testing.T) {
			text := r.render(t) + "---\n" + notes(t, r)
			checkFile(t, filepath.Join("testdata/golden", r.name+".yaml"), text)
		})
	}
}

// notes returns what helm prints after an installation, as comments. `helm
// template` leaves it out, so a copy of the chart has it as an object.
func notes(t *testing.T, r rendering) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(chartDir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "templates/NOTES.txt"), filepath.Join(dir, "notes")); err != nil {
		t.Fatal(err)
	}
	template := `kind: Notes{{ "\n" }}{{ tpl (.Files.Get "notes") . | replace "\n" "\n# " | printf "# %s" }}`
	if err := os.WriteFile(filepath.Join(dir, "templates/notes.yaml"), []byte(template), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := runHelm(t, "template", r.release, dir, "--namespace", r.namespace, "--kube-version", kubeVersion,
		"--values", filepath.Join("testdata/values", r.name+".yaml"), "--show-only", "templates/notes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(text, "kind: Notes\n")
	if !ok {
		t.Fatal("helm did not render the notes")
	}
	return "# NOTES\n" + strings.ReplaceAll(text, "# \n", "#\n")
}

func TestEveryValueFileIsRendered(t *testing.T) {
	names := map[string]bool{}
	for _, r := range renderings {
		names[r.name+".yaml"] = true
	}
	for _, dir := range []string{"testdata/values", "testdata/golden"} {
		files, err := fs.ReadDir(os.DirFS(dir), ".")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !names[f.Name()] {
				t.Errorf("%s/%s belongs to no rendering", dir, f.Name())
			}
		}
	}
}

func TestLint(t *testing.T) {
	args := []string{"lint", "--strict", "--kube-version", kubeVersion, chartDir}
	for _, r := range renderings {
		if _, err := runHelm(t, append(args, "--values", filepath.Join("testdata/values", r.name+".yaml"))...); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
	}
}

func TestAnOlderClusterIsRefused(t *testing.T) {
	for version, ok := range map[string]bool{"1.28.9": false, "1.29.0": true, "v1.31.4-gke.1256000": true, "1.34.3": true} {
		_, err := runHelm(t, "template", "ullage", chartDir, "--kube-version", version, "--set", "registry="+registry)
		if (err == nil) != ok {
			t.Errorf("Kubernetes %s: %v", version, err)
		}
	}
}
