package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// push builds and pushes both images and the chart. It prints the command that
// installs them. It logs in to the registry with docker's stored credentials.
func push(ctx context.Context, src source, registry string, stdout io.Writer) (err error) {
	host, err := checkRegistry(registry)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "ullage-push-")
	if err != nil {
		return fmt.Errorf("make a directory for the images: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	for _, t := range allTargets {
		if !t.image {
			continue
		}
		if err := src.image(ctx, work, registry+"/", t); err != nil {
			return err
		}
		if err := src.pushImage(ctx, filepath.Join(work, t.program+".tar"), registry+"/"+t.program+":"+src.version); err != nil {
			return loginHint(host, err)
		}
	}
	if err := src.pushChart(ctx, registry); err != nil {
		return loginHint(host, err)
	}
	_, err = fmt.Fprintln(stdout, src.installLine(registry, host))
	return err
}

// installLine returns the command that installs the pushed chart and images.
func (s source) installLine(registry string, host name.Registry) string {
	plain := ""
	if host.Scheme() == "http" {
		plain = " --plain-http"
	}
	return fmt.Sprintf("helm install ullage oci://%s/charts/ullage --version %s%s --namespace ullage-system --create-namespace --wait", registry, s.version, plain)
}

// checkRegistry parses the name of a registry, which may include a path.
func checkRegistry(registry string) (name.Registry, error) {
	ref, err := name.NewRepository(registry+"/ullage", name.StrictValidation)
	if registry == "" || err != nil {
		return name.Registry{}, fmt.Errorf("REGISTRY is %q: name a registry and, if need be, a path, as in REGISTRY=registry.example/team", registry)
	}
	return ref.Registry, nil
}

// loginHint adds advice to the error of a registry that denies access.
func loginHint(host name.Registry, err error) error {
	var refused *transport.Error
	if errors.As(err, &refused) && (refused.StatusCode == http.StatusUnauthorized || refused.StatusCode == http.StatusForbidden) {
		return fmt.Errorf("%w\nLog in with 'docker login %[2]s' or 'podman login %[2]s', as a user who may push there", err, host.Name())
	}
	return err
}

// pushImage pushes the image in an archive, for all its architectures.
func (s source) pushImage(ctx context.Context, archive, tag string) error {
	ref, err := name.ParseReference(tag, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("push the image: %w", err)
	}
	dir := strings.TrimSuffix(archive, ".tar")
	if err := unpack(archive, dir); err != nil {
		return fmt.Errorf("unpack the image: %w", err)
	}
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return fmt.Errorf("read the image: %w", err)
	}
	m, err := top.IndexManifest()
	if err != nil {
		return fmt.Errorf("read the image: %w", err)
	}
	image, err := top.ImageIndex(m.Manifests[0].Digest)
	if err != nil {
		return fmt.Errorf("read the image: %w", err)
	}
	if err := remote.WriteIndex(ref, image, remoteOptions(ctx)...); err != nil {
		return fmt.Errorf("push %s: %w", tag, err)
	}
	s.say("pushed %s@%s", tag, m.Manifests[0].Digest)
	return nil
}

func remoteOptions(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithUserAgent("ullage-release")}
}

// unpack writes the files of an archive into dir.
func unpack(archive, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if !filepath.IsLocal(h.Name) {
			return fmt.Errorf("%q is not below the archive's root", h.Name)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, h.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)); err != nil {
			return err
		}
	}
}

// imageDigest returns the digest of the image in an archive.
func imageDigest(archive []byte) (string, error) {
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if err != nil {
			return "", fmt.Errorf("look for the image's index: %w", err)
		}
		if h.Name != "index.json" {
			continue
		}
		var index v1.IndexManifest
		if err := json.NewDecoder(r).Decode(&index); err != nil || len(index.Manifests) != 1 {
			return "", fmt.Errorf("read the image's index: it has %d images: %w", len(index.Manifests), err)
		}
		return index.Manifests[0].Digest.String(), nil
	}
}
