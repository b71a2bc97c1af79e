package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree creates the files that the tests put into images.
func tree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"amd64/prog": 0o700, "arm64/prog": 0o755, "root/etc/conf": 0o600, "root/bin/sh": 0o777} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("this is "+name), mode)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("sh", filepath.Join(dir, "root/bin/ls")), os.Mkdir(filepath.Join(dir, "root/tmp"), 0o700),
		os.Chmod(filepath.Join(dir, "root/tmp"), os.ModeSticky|0o777)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// run runs a command line and returns the files of the archive.
func run(t *testing.T, args ...string) map[string][]byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "image.tar")
	img, out, err := parse(append([]string{"--out", out}, args...), "1700000000")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := img.build(out); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(out)); len(entries) != 1 {
		t.Errorf("the directory has %v, want only the archive", entries)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"": data}
	for archive := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := archive.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}

func decode[T any](t *testing.T, data []byte) (v T) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("error %v, want a %T without unknown fields in %s", err, v, data)
	}
	return v
}

// content checks the size and the digest of a descriptor's content and returns the
// content.
func content(t *testing.T, files map[string][]byte, d descriptor) []byte {
	t.Helper()
	data := files[blobName(d.Digest)]
	sum := sha256.Sum256(data)
	if int64(len(data)) != d.Size || "sha256:"+hex.EncodeToString(sum[:]) != d.Digest {
		t.Fatalf("the content in the archive does not match %+v", d)
	}
	return data
}

// list describes the entries of a layer, with the content of its files.
func list(t *testing.T, stream []byte) (entries []string) {
	t.Helper()
	for archive := tar.NewReader(bytes.NewReader(stream)); ; {
		h, err := archive.Next()
		if err == io.EOF {
			return entries
		}
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(archive)
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.ModTime.Unix() != 1700000000 {
			t.Errorf("%s has owner %d:%d %q and time %d, want owner 0:0 without a name and time 1700000000", h.Name, h.Uid, h.Gid, h.Uname, h.ModTime.Unix())
		}
		entries = append(entries, strings.TrimSpace(strings.Join([]string{h.FileInfo().Mode().String(), h.Name, h.Linkname, string(data)}, " ")))
	}
}

func TestImageOfOneArchitecture(t *testing.T) {
	dir := tree(t)
	files := run(t, "--tag", "ullage:v1", "--arch", "amd64", "--user", "65532:65532", "--entrypoint", "/usr/bin/prog run",
		"--label", "a=b=c", "--env", "X=Y", dir+"/{arch}/prog=/usr/bin/prog", dir+"/root=/")

	top := decode[index](t, files["index.json"])
	if len(top.Manifests) != 1 || top.Manifests[0].Annotations["io.containerd.image.name"] != "docker.io/library/ullage:v1" {
		t.Fatalf("index.json is %s, want one manifest, with the name docker.io/library/ullage:v1", files["index.json"])
	}
	m := decode[manifest](t, content(t, files, top.Manifests[0]))
	c := decode[config](t, content(t, files, m.Config))
	want := runConfig{User: "65532:65532", Env: []string{defaultPath, "X=Y"}, Entrypoint: []string{"/usr/bin/prog", "run"}, WorkingDir: "/", Labels: map[string]string{"a": "b=c"}}
	if diff := cmp.Diff(want, c.Config); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if c.Architecture != "amd64" || c.OS != "linux" || c.Created != "2023-11-14T22:13:20Z" {
		t.Errorf("the image was built for %+v at %s, want it for linux on amd64 at 2023-11-14T22:13:20Z", c.platform, c.Created)
	}
	wantLayers := [][]string{
		{"drwxr-xr-x usr/", "drwxr-xr-x usr/bin/", "-rwxr-xr-x usr/bin/prog  this is amd64/prog"},
		{"drwxr-xr-x bin/", "Lrwxrwxrwx bin/ls sh", "-rwxr-xr-x bin/sh  this is root/bin/sh", "drwxr-xr-x etc/", "-rw-r--r-- etc/conf  this is root/etc/conf", "dtrwxrwxrwx tmp/"},
	}
	for i, l := range m.Layers {
		r, err := gzip.NewReader(bytes.NewReader(content(t, files, l)))
		if err != nil {
			t.Fatal(err)
		}
		stream, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := dataBlob(stream).digest; got != c.RootFS.DiffIDs[i] {
			t.Errorf("diff ID of layer %d is %s, want %s", i, c.RootFS.DiffIDs[i], got)
		}
		if diff := cmp.Diff(wantLayers[i], list(t, stream)); diff != "" {
			t.Errorf("layer %d (-want +got):\n%s", i, diff)
		}
	}
	docker := decode[[]dockerImage](t, files["manifest.json"])
	if diff := cmp.Diff([]dockerImage{{blobName(m.Config.Digest), []string{"ullage:v1"}, []string{blobName(m.Layers[0].Digest), blobName(m.Layers[1].Digest)}}}, docker); diff != "" {
		t.Errorf("manifest.json (-want +got):\n%s", diff)
	}
}

func TestImageOfTwoArchitectures(t *testing.T) {
	dir := tree(t)
	files := run(t, "--tag", "localhost/ullage:v1", "--arch", "amd64,arm64", "--gzip=false", dir+"/{arch}/prog=/prog", dir+"/root=/")
	top := decode[index](t, files["index.json"])
	if top.Manifests[0].MediaType != typeIndex || top.Manifests[0].Annotations["io.containerd.image.name"] != "localhost/ullage:v1" {
		t.Fatalf("index.json is %s, want a %s with the name localhost/ullage:v1", files["index.json"], typeIndex)
	}
	nested := decode[index](t, content(t, files, top.Manifests[0]))
	var archs []string
	for _, d := range nested.Manifests {
		m := decode[manifest](t, content(t, files, d))
		archs = append(archs, d.Platform.Architecture)
		if got := list(t, content(t, files, m.Layers[0])); !cmp.Equal(got, []string{"-rwxr-xr-x prog  this is " + d.Platform.Architecture + "/prog"}) {
			t.Errorf("the layer for %s has %q, want only the executable prog of that architecture", d.Platform.Architecture, got)
		}
		if m.Layers[0].MediaType != typeLayer {
			t.Errorf("an uncompressed layer has the media type %s, want %s", m.Layers[0].MediaType, typeLayer)
		}
	}
	if !cmp.Equal(archs, []string{"amd64", "arm64"}) {
		t.Errorf("the architectures are %q, want amd64 and arm64", archs)
	}
}

func TestSameInputGivesSameBytes(t *testing.T) {
	args := []string{"--tag", "ullage:v1", "--arch", "amd64,arm64", "--label", "a=1", "--label", "b=2"}
	var archives [2][]byte
	for i := range archives {
		dir := tree(t) // a tree with a different name and age
		archives[i] = run(t, append(args, dir+"/{arch}/prog=/prog", dir+"/root=/")...)[""]
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("two builds of the same input differ, want the same bytes")
	}
}

func TestSourceThatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "image.tar")
	for source, want := range map[string]string{dir: "neither a file nor a directory", "/does/not/exist": "no such file"} {
		img, out, err := parse([]string{"--out", out, "--tag", "a:b", source + "=/"}, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := img.build(out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", source, err, want)
		}
		if entries, _ := os.ReadDir(filepath.Dir(out)); len(entries) != 0 {
			t.Errorf("the directory has %v, want nothing", entries)
		}
	}
}

func TestBadArguments(t *testing.T) {
	for name, tc := range map[string]struct {
		args, want string
	}{
		"nothing":               {"", "are needed"},
		"no tag":                {"--tag name x=/x", `--tag "name"`},
		"tag with a plus":       {"--tag name:v1+dirty x=/x", `"name:v1+dirty"`},
		"named user":            {"--tag a:b --user nobody x=/x", "UID:GID"},
		"time in words":         {"--tag a:b --created today x=/x", `"today"`},
		"no destination":        {"--tag a:b x", "SOURCE=DESTINATION"},
		"relative destination":  {"--tag a:b x=x", "absolute, clean"},
		"destination that ends": {"--tag a:b x=/x/", "absolute, clean"},
		"destination above":     {"--tag a:b x=/../x", "absolute, clean"},
		"label without a value": {"--tag a:b --label a x=/x", "KEY=VALUE"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := parse(append([]string{"--out", "x"}, strings.Fields(tc.args)...), "")
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestQualifiedName(t *testing.T) {
	for tag, want := range map[string]string{
		"ullage:v1":              "docker.io/library/ullage:v1",
		"ullage/ullage:v1":       "docker.io/ullage/ullage:v1",
		"localhost/ullage:v1":    "localhost/ullage:v1",
		"example.com/ullage:v1":  "example.com/ullage:v1",
		"host:5000/ullage:v1":    "host:5000/ullage:v1",
		"localhost:5000/a/b:tag": "localhost:5000/a/b:tag",
	} {
		if got := qualified(tag); got != want {
			t.Errorf("%s is completed to %s, want %s", tag, got, want)
		}
	}
}
