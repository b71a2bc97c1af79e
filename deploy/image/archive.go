package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// image describes an image to build.
type image struct {
	tag        string
	archs      []string
	user       string
	entrypoint []string
	env        []string
	labels     map[string]string
	created    time.Time // of the image and of every file in it
	gzip       bool      // compress the layers
	layers     []fileCopy
}

// defaultPath is the PATH that builders set in an image without one.
const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// built is the finished image for one architecture.
type built struct {
	arch                     string
	manifest, config         blob
	layers                   []layer
	compressed, uncompressed int64 // bytes of the layers
}

// build writes the archive. The archive gets its name only when it is complete.
func (img image) build(out string) (platforms []built, err error) {
	dir, err := os.MkdirTemp(filepath.Dir(out), ".image-*")
	if err != nil {
		return nil, fmt.Errorf("write the image: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, arch := range img.archs {
		b, err := img.buildArch(dir, arch)
		if err != nil {
			return nil, err
		}
		platforms = append(platforms, b)
	}
	partial := filepath.Join(dir, "archive")
	f, err := os.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("write the image: %w", err)
	}
	if err := errors.Join(img.write(f, platforms), f.Close()); err != nil {
		return nil, fmt.Errorf("write the image: %w", err)
	}
	return platforms, os.Rename(partial, out)
}

func (img image) buildArch(dir, arch string) (built, error) {
	b := built{arch: arch}
	created := img.created.Format(time.RFC3339)
	c := config{platform: platform{arch, "linux"}, Created: created, RootFS: rootFS{Type: "layers"},
		Config: runConfig{User: img.user, Env: img.environment(), Entrypoint: img.entrypoint, WorkingDir: "/", Labels: img.labels}}
	m := manifest{SchemaVersion: 2, MediaType: typeManifest}
	mediaType := typeLayer
	if img.gzip {
		mediaType += "+gzip"
	}
	for _, source := range img.layers {
		l, err := source.build(dir, arch, img.created, img.gzip)
		if err != nil {
			return built{}, err
		}
		b.layers = append(b.layers, l)
		b.compressed += l.size
		b.uncompressed += l.uncompressed
		m.Layers = append(m.Layers, descriptor{MediaType: mediaType, Digest: l.digest, Size: l.size})
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, l.diffID)
		c.History = append(c.History, history{created, "copy to " + source.destination})
	}
	b.config = dataBlob(encode(c))
	m.Config = descriptor{MediaType: typeConfig, Digest: b.config.digest, Size: b.config.size}
	b.manifest = dataBlob(encode(m))
	return b, nil
}

// environment returns the environment of the program. It always has a PATH.
func (img image) environment() []string {
	for _, e := range img.env {
		if strings.HasPrefix(e, "PATH=") {
			return img.env
		}
	}
	return append([]string{defaultPath}, img.env...)
}

// write writes the archive: first the small files, as readers expect, then each blob once.
func (img image) write(w io.Writer, platforms []built) error {
	names := map[string]string{
		"io.containerd.image.name":          qualified(img.tag),
		"org.opencontainers.image.ref.name": img.tag[strings.LastIndexByte(img.tag, ':')+1:],
	}
	top := index{SchemaVersion: 2, MediaType: typeIndex}
	var blobs []blob
	for _, p := range platforms {
		top.Manifests = append(top.Manifests, descriptor{MediaType: typeManifest, Digest: p.manifest.digest, Size: p.manifest.size, Platform: &platform{p.arch, "linux"}})
		blobs = append(blobs, p.manifest, p.config)
		for _, l := range p.layers {
			blobs = append(blobs, l.blob)
		}
	}
	if len(platforms) > 1 {
		nested := dataBlob(encode(top))
		blobs = append(blobs, nested)
		top.Manifests = []descriptor{{MediaType: typeIndex, Digest: nested.digest, Size: nested.size}}
	}
	top.Manifests[0].Annotations = names

	archive := tar.NewWriter(w)
	for _, f := range []struct {
		name string
		data []byte
	}{
		{"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{"index.json", encode(top)},
		{"manifest.json", encode([]dockerImage{docker(img.tag, platforms[0])})},
	} {
		if err := img.add(archive, f.name, dataBlob(f.data)); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	for _, b := range blobs {
		if seen[b.digest] {
			continue
		}
		seen[b.digest] = true
		if err := img.add(archive, blobName(b.digest), b); err != nil {
			return err
		}
	}
	return archive.Close()
}

func (img image) add(archive *tar.Writer, name string, b blob) error {
	h := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: b.size, ModTime: img.created, Format: tar.FormatPAX}
	if err := archive.WriteHeader(h); err != nil {
		return err
	}
	var content io.Reader = bytes.NewReader(b.data)
	if b.path != "" {
		f, err := os.Open(b.path)
		if err != nil {
			return err
		}
		defer f.Close()
		content = f
	}
	_, err := io.Copy(archive, content)
	return err
}

// docker returns the entry for Docker's manifest.json, which has room for only one image:
// the image of the first architecture.
func docker(tag string, p built) dockerImage {
	d := dockerImage{Config: blobName(p.config.digest), RepoTags: []string{tag}}
	for _, l := range p.layers {
		d.Layers = append(d.Layers, blobName(l.digest))
	}
	return d
}

func blobName(digest string) string { return "blobs/" + strings.Replace(digest, ":", "/", 1) }

// qualified completes a name as Docker and Kubernetes do: "ullage:v1" is
// "docker.io/library/ullage:v1". A name that begins with a host is returned unchanged.
func qualified(tag string) string {
	first, _, ok := strings.Cut(tag, "/")
	switch {
	case !ok:
		return "docker.io/library/" + tag
	case strings.ContainsAny(first, ".:") || first == "localhost":
		return tag
	}
	return "docker.io/" + tag
}
