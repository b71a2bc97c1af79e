package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// wholeRendering is the rendering whose golden has the whole output of helm.
const wholeRendering = "default"

// TestGoldens compares what helm renders from the value files with the files in testdata/golden: default.yaml has
// every line, and NAME.diff has the changes that the values of NAME make.
func TestGoldens(t *testing.T) {
	for _, r := range renderings {
		t.Run(r.name, func(t *testing.T) {
			if r.name == wholeRendering {
				checkFile(t, r.golden(), r.render(t)+"---\n"+notes(t, r))
				return
			}
			checkFile(t, r.golden(), differences(goldenObjects(t, r.unset()), goldenObjects(t, r)))
		})
	}
}

// golden returns the path of a rendering's golden.
func (r rendering) golden() string {
	ext := ".diff"
	if r.name == wholeRendering {
		ext = ".yaml"
	}
	return filepath.Join("testdata/golden", r.name+ext)
}

// unset returns what a rendering is compared with: the chart without its values, under the same names. So the
// difference shows what the values do, not a name in every object. The rendering "names" shows the effect of the
// names: it is compared with the default itself.
func (r rendering) unset() rendering {
	u := renderings[0]
	if r.name != "names" {
		u.release, u.namespace = r.release, r.namespace
	}
	return u
}

// goldenObjects returns a rendering's objects, and its notes as an additional object.
func goldenObjects(t *testing.T, r rendering) []object {
	t.Helper()
	return append(decode(t, r.render(t)), object{TypeMeta: metav1.TypeMeta{Kind: "Notes"}, text: notes(t, r)})
}

// role names an object independently of the release, whose name begins the object's name.
func (o object) role() string {
	return strings.TrimSpace(o.Kind + " " + o.Metadata.Name[max(0, strings.LastIndex(o.Metadata.Name, "ullage")):])
}

// differences shows a reader what happened to objects: a line for each removed object, all lines of each added one,
// and a diff of each changed one. The result has no line numbers, so a change of the default moves nothing in it.
func differences(before, after []object) string {
	left := map[string]object{}
	for _, o := range before {
		left[o.role()] = o
	}
	var added strings.Builder
	for _, o := range after {
		old, ok := left[o.role()]
		delete(left, o.role())
		switch {
		case !ok:
			fmt.Fprintf(&added, "\n=== added: %s\n%s", o.role(), prefixed(o.text))
		case old.text != o.text:
			fmt.Fprintf(&added, "\n=== changed: %s\n%s", o.role(), hunks(old.text, o.text))
		}
	}
	var removed strings.Builder
	for _, o := range before {
		if _, ok := left[o.role()]; ok {
			fmt.Fprintf(&removed, "=== removed: %s\n", o.role())
		}
	}
	return removed.String() + added.String()
}

// prefixed returns an added object. It leaves out the file that the chart copies into the dashboard.
func prefixed(text string) string {
	if file, err := os.ReadFile(dashboardFile); err == nil {
		copied := "    " + strings.ReplaceAll(strings.TrimSpace(string(file)), "\n", "\n    ")
		text = strings.Replace(text, copied, "    (files/dashboard.json as it is)", 1)
	}
	return "+" + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n+") + "\n"
}

var (
	diffHeader = regexp.MustCompile(`\A(.*\n){3}`)
	hunkHeader = regexp.MustCompile(`(?m)^@@ .*$`)
)

// hunks returns the lines that differ, each with some lines of context.
func hunks(before, after string) string {
	text := diff.Diff("", []byte(before), "", []byte(after))
	return string(hunkHeader.ReplaceAll(diffHeader.ReplaceAll(text, nil), []byte("@@")))
}

// notes returns what helm prints after an installation, as comments. `helm template` leaves this text out, so notes
// renders a copy of the chart that contains the text as an object.
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
		t.Fatal("helm did not render the notes, want an object of the kind Notes")
	}
	return "# NOTES\n" + strings.ReplaceAll(text, "# \n", "#\n")
}

func TestEveryValueFileIsRendered(t *testing.T) {
	known := map[string]bool{}
	for _, r := range renderings {
		known[filepath.Join("testdata/values", r.name+".yaml")] = true
		known[r.golden()] = true
	}
	for _, dir := range []string{"testdata/values", "testdata/golden"} {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if path := filepath.Join(dir, f.Name()); !known[path] {
				t.Errorf("%s belongs to no rendering", path)
			}
		}
	}
}

// Two objects with one role would hide each other in the differences.
func TestEachObjectHasARoleOfItsOwn(t *testing.T) {
	each(t, func(t *testing.T, _ rendering, objects []object) {
		seen := map[string]bool{}
		for _, o := range objects {
			if seen[o.role()] {
				t.Errorf("two objects have the role %s, want one", o.role())
			}
			seen[o.role()] = true
		}
	})
}

func TestDifferencesNameEachObjectThatDiffers(t *testing.T) {
	one := func(kind, name, text string) object {
		o := object{TypeMeta: metav1.TypeMeta{Kind: kind}, text: text}
		o.Metadata.Name = name
		return o
	}
	before := []object{one("Secret", "ullage-injector", "a\n"), one("Service", "ullage-injector", "same\n"), one("Job", "ullage-check", "x\ny\n")}
	after := []object{one("Service", "ullage-injector", "same\n"), one("Job", "other-ullage-check", "x\nz\n"), one("Role", "ullage-injector", "r\ns\n")}
	want := "=== removed: Secret ullage-injector\n" +
		"\n=== changed: Job ullage-check\n@@\n x\n-y\n+z\n" +
		"\n=== added: Role ullage-injector\n+r\n+s\n"
	if got := differences(before, after); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
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
			t.Errorf("Kubernetes %s: error %v, want an error: %t", version, err, !ok)
		}
	}
}
