package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	spdxjson "github.com/spdx/tools-golang/json"
	"sigs.k8s.io/yaml"
)

// version is the version of the releases in the tests.
const version = "0.0.1-test.1"

// fewTargets are the targets that the tests need. All targets would take too long.
var fewTargets = []target{
	{"ullage", []platform{{"linux", runtime.GOARCH}}, true},
	{plugin, []platform{{"linux", runtime.GOARCH}, {"windows", "amd64"}}, false},
}

func checkout(t *testing.T) source {
	t.Helper()
	s, err := newSource(t.Context(), "../..", "v"+version)
	if err != nil {
		t.Fatal(err)
	}
	s.progress = t.Output()
	s.registry, s.builder = published, byHand
	return s
}

// releaseFiles makes a release and returns its files.
func releaseFiles(t *testing.T) map[string][]byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "dist")
	if err := makeRelease(t.Context(), checkout(t), fewTargets, out); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), "*")); len(left) != 1 {
		t.Errorf("the directory has %q, want only the release", left)
	}
	files := map[string][]byte{}
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(out, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = data
	}
	return files
}

// A release has the files that the documentation promises. A second release, made elsewhere,
// has the same bytes.
func TestRelease(t *testing.T) {
	files := releaseFiles(t)
	linux, windows := "_"+version+"_linux_"+runtime.GOARCH+".tar.gz", "_"+version+"_windows_amd64.zip"
	want := []string{
		"krew-ullage.yaml", "kubectl-ullage" + linux, "kubectl-ullage" + windows, "kubectl-ullage_" + version + ".spdx.json",
		"ullage" + linux, "ullage_" + version + ".spdx.json", "ullage_" + version + "_image.tar", "ullage-" + version + ".tgz",
		"ullage_" + version + "_changes.md", "ullage_" + version + "_checksums.txt", "ullage_" + version + "_provenance.json",
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Fatalf("the release has\n%q, want\n%q", got, want)
	}
	t.Run("archives", func(t *testing.T) {
		for name, programs := range map[string][]string{"ullage" + linux: {"ullage"}, "kubectl-ullage" + linux: {plugin, "kubectl_complete-ullage"}} {
			entries := untar(t, files[name])
			if got := slices.Sorted(maps.Keys(entries)); !slices.Equal(got, append([]string{"LICENSE", "README.md"}, programs...)) {
				t.Errorf("the archive %s has the files %q, want LICENSE, README.md and %q", name, got, programs)
			}
			reportsVersion(t, entries[programs[0]])
		}
		z, err := zip.NewReader(bytes.NewReader(files["kubectl-ullage"+windows]), int64(len(files["kubectl-ullage"+windows])))
		if err != nil {
			t.Fatalf("the archive for Windows cannot be read: %v", err)
		}
		if first := z.File[0].Name; first != "kubectl-ullage.exe" {
			t.Errorf("the archive for Windows begins with %s, want kubectl-ullage.exe", first)
		}
	})
	t.Run("chart", func(t *testing.T) { checkChart(t, files["ullage-"+version+".tgz"], published) })
	t.Run("SBOM", func(t *testing.T) { checkSBOM(t, files["ullage_"+version+".spdx.json"]) })
	t.Run("provenance", func(t *testing.T) { checkProvenance(t, files) })
	t.Run("checksums", func(t *testing.T) { checkSums(t, files) })
	t.Run("krew", func(t *testing.T) { checkKrew(t, files) })
	t.Run("changes", func(t *testing.T) {
		if text := string(files["ullage_"+version+"_changes.md"]); !strings.HasPrefix(text, "## "+version+" (") || !strings.Contains(text, "\n- ") && !strings.Contains(text, "without git") {
			t.Errorf("the section of the changelog is %.200q, want the heading of version %s, and a list or \"without git\"", text, version)
		}
	})
	t.Run("same bytes", func(t *testing.T) {
		t.Setenv("TZ", "Asia/Tokyo")
		t.Setenv("TMPDIR", t.TempDir())
		again := releaseFiles(t)
		for name, data := range files {
			if !bytes.Equal(data, again[name]) {
				t.Errorf("%s differs between two runs", name)
			}
		}
	})
}

// untar returns the files of a compressed archive.
func untar(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return entries
		}
		if err != nil {
			t.Fatal(err)
		}
		if entries[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// reportsVersion runs a program and checks that it reports the release's version.
func reportsVersion(t *testing.T, program []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, program, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(path, "version").CombinedOutput(); err != nil || !strings.Contains(string(out), version) {
		t.Errorf("the program reports %q, error %v; want version %s and no error", out, err, version)
	}
}

func checkChart(t *testing.T, archive []byte, registry string) {
	entries := untar(t, archive)
	var about struct {
		Version, AppVersion string
		Annotations         map[string]string
	}
	if err := yaml.Unmarshal(entries["ullage/Chart.yaml"], &about); err != nil || about.Version != version || about.AppVersion != version {
		t.Errorf("Chart.yaml has %+v, error %v; want both versions %s and no error", about, err, version)
	}
	var images []struct{ Name, Image string }
	if err := yaml.UnmarshalStrict([]byte(about.Annotations["artifacthub.io/images"]), &images); err != nil || len(images) != 2 || images[0].Image != registry+"/ullage:"+version {
		t.Errorf("Artifact Hub would show the images %+v, error %v; want two, the first of them %s, and no error", images, err, registry+"/ullage:"+version)
	}
	checkRegistryOf(t, entries["ullage/values.yaml"], registry)
	for _, name := range []string{"values.schema.json", "templates/deployment.yaml", "templates/tests/injection.yaml"} {
		if want, err := os.ReadFile(filepath.Join("../..", chartDir, name)); err != nil || !bytes.Equal(entries["ullage/"+name], want) {
			t.Errorf("the %s of the chart differs from that of the checkout: %v", name, err)
		}
	}
}

// The chart names the registry that it is in, so that `helm install` needs no value.
func checkRegistryOf(t *testing.T, values []byte, registry string) {
	t.Helper()
	var set struct{ Registry string }
	if err := yaml.Unmarshal(values, &set); err != nil || set.Registry != registry {
		t.Errorf("values.yaml names the registry %q, want %q: %v", set.Registry, registry, err)
	}
}

func checkSBOM(t *testing.T, data []byte) {
	doc, err := spdxjson.Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.DocumentNamespace, repository) || strings.Contains(doc.DocumentNamespace, "#") {
		t.Errorf("the namespace is %s, want one that begins with %s and has no #", doc.DocumentNamespace, repository)
	}
	names := map[string]string{}
	known := map[string]bool{"DOCUMENT": true}
	for _, p := range doc.Packages {
		names[p.PackageName] = p.PackageVersion
		known[string(p.PackageSPDXIdentifier)] = true
	}
	if names["ullage"] != version || names["github.com/klauspost/compress"] == "" || names["stdlib"] != strings.TrimPrefix(runtime.Version(), "go") {
		t.Errorf("the packages are %v, want ullage %s, github.com/klauspost/compress, and stdlib of %s", names, version, runtime.Version())
	}
	for _, r := range doc.Relationships {
		if !known[string(r.RefA.ElementRefID)] || !known[string(r.RefB.ElementRefID)] {
			t.Errorf("%v relates an element that does not exist", r)
		}
	}
	if len(doc.Relationships) < len(doc.Packages) {
		t.Errorf("%d packages have %d relations, want at least as many relations as packages", len(doc.Packages), len(doc.Relationships))
	}
}

func checkProvenance(t *testing.T, files map[string][]byte) {
	var s statement
	d := json.NewDecoder(bytes.NewReader(files["ullage_"+version+"_provenance.json"]))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		t.Fatal(err)
	}
	subjects := map[string]string{}
	for _, r := range s.Subject {
		subjects[r.Name] = r.Digest["sha256"]
	}
	for name, data := range files {
		if strings.HasSuffix(name, checksumsSuffix) || strings.HasSuffix(name, "_provenance.json") {
			continue
		}
		if subjects[name] != sum(data) {
			t.Errorf("%s has the checksum %s, but %q in the provenance", name, sum(data), subjects[name])
		}
		delete(subjects, name)
	}
	digest, err := imageDigest(files["ullage_"+version+"_image.tar"])
	if err != nil || "sha256:"+subjects["localhost/ullage:"+version] != digest || len(subjects) != 1 {
		t.Errorf("the provenance also has %v, and the image has the digest %s, error %v; want only the image with that digest and no error", subjects, digest, err)
	}
}

func checkSums(t *testing.T, files map[string][]byte) {
	lines := strings.Split(strings.TrimSpace(string(files["ullage_"+version+checksumsSuffix])), "\n")
	if len(lines) != len(files)-1 {
		t.Errorf("%d files have a checksum, want %d", len(lines), len(files)-1)
	}
	for _, line := range lines {
		digest, name, _ := strings.Cut(line, "  ")
		if digest != sum(files[name]) {
			t.Errorf("%s is listed with the checksum %s, want that of the file", name, digest)
		}
	}
}

func checkKrew(t *testing.T, files map[string][]byte) {
	var m struct {
		Kind string
		Spec struct {
			Version   string
			Platforms []struct {
				Selector         struct{ MatchLabels struct{ OS, Arch string } }
				URI, SHA256, Bin string
			}
		}
	}
	if err := yaml.Unmarshal(files["krew-ullage.yaml"], &m); err != nil {
		t.Fatal(err)
	}
	if m.Kind != "Plugin" || m.Spec.Version != "v"+version || len(m.Spec.Platforms) != 2 {
		t.Fatalf("the manifest is %+v, want a Plugin of version v%s for 2 platforms", m, version)
	}
	for _, p := range m.Spec.Platforms {
		name := p.URI[strings.LastIndexByte(p.URI, '/')+1:]
		if data, ok := files[name]; !ok || p.SHA256 != sum(data) || !strings.Contains(name, p.Selector.MatchLabels.OS+"_"+p.Selector.MatchLabels.Arch) {
			t.Errorf("%+v does not match a file of the release", p)
		}
	}
}
