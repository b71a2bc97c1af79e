package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// target is a program with the platforms for which it is released.
type target struct {
	program   string
	platforms []platform
	image     bool // the program also has an image
}

// platform is a platform for which Go builds.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

// directory is the directory in which build.sh puts the programs of a platform.
func (p platform) directory() string { return p.os + "-" + p.arch }

// linux has each architecture for which both Kubernetes and a JDK exist.
var linux = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"linux", "ppc64le"}, {"linux", "s390x"}}

// allTargets are the programs of a release. The plugin is built for every platform of
// kubectl.
var allTargets = []target{
	{"ullage", linux, true},
	{"ullage-injector", linux, true},
	{plugin, pluginPlatforms, false},
}

const plugin = "kubectl-ullage"

var pluginPlatforms = append(slices.Clone(linux),
	platform{"darwin", "amd64"}, platform{"darwin", "arm64"}, platform{"windows", "amd64"}, platform{"windows", "arm64"})

// makeRelease writes all files of a release into out. out gets its name only when it is
// complete.
func makeRelease(ctx context.Context, src source, targets []target, out string) (err error) {
	if _, err := earlier(out); err != nil {
		return err
	}
	if strings.HasSuffix(src.revision, "-dirty") {
		src.say("WARNING: the checkout differs from its commit; the programs report this")
	}
	work, err := os.MkdirTemp(filepath.Dir(out), ".release-*")
	if err != nil {
		return fmt.Errorf("make the directory of the release: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	r := &release{source: src, built: filepath.Join(work, "built"), out: filepath.Join(work, "out")}
	if err := errors.Join(os.Mkdir(r.built, 0o755), os.Mkdir(r.out, 0o755)); err != nil {
		return fmt.Errorf("make the directory of the release: %w", err)
	}
	if err := r.write(ctx, targets); err != nil {
		return err
	}
	if err := removeEarlier(out); err != nil {
		return err
	}
	if err := os.Rename(r.out, out); err != nil {
		return fmt.Errorf("put the release in its place: %w", err)
	}
	src.say("%d files in %s", len(r.files), out)
	return nil
}

// release is a release that is being written.
type release struct {
	source
	built string // directory of the binaries
	out   string // directory of the release's files
	files []file // the files in out, in the order in which they were written
}

// write writes each file after the files that it names or lists.
func (r *release) write(ctx context.Context, targets []target) error {
	for _, t := range targets {
		if err := r.program(ctx, t); err != nil {
			return err
		}
	}
	digests, err := r.images(ctx, targets)
	if err != nil {
		return err
	}
	chart, err := r.chart(r.registry)
	if err != nil {
		return err
	}
	if err := r.add(chart.fileName(), chart.archive); err != nil {
		return err
	}
	for _, step := range []func() error{
		r.krew,
		func() error { return r.changes(ctx) },
		func() error { return r.provenance(digests) },
		r.checksums,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// program builds a program for its platforms. It writes an archive for each platform, and
// the SBOM.
func (r *release) program(ctx context.Context, t target) error {
	args := []string{"program", t.program}
	for _, p := range t.platforms {
		args = append(args, p.String())
	}
	r.say("building %s", strings.Join(args[1:], " "))
	if err := r.build(ctx, r.built, nil, args...); err != nil {
		return err
	}
	for _, p := range t.platforms {
		if err := r.archive(t.program, p); err != nil {
			return err
		}
	}
	return r.sbom(t)
}

// images writes the archives of the images and returns the digest of each image, by image
// name.
func (r *release) images(ctx context.Context, targets []target) (map[string]string, error) {
	digests := map[string]string{}
	for _, t := range targets {
		if !t.image {
			continue
		}
		if err := r.image(ctx, r.built, "localhost/", t); err != nil {
			return nil, err
		}
		data, err := os.ReadFile(filepath.Join(r.built, t.program+".tar"))
		if err != nil {
			return nil, fmt.Errorf("read the image: %w", err)
		}
		if digests["localhost/"+t.program+":"+r.version], err = imageDigest(data); err != nil {
			return nil, err
		}
		if err := r.add(t.program+"_"+r.version+"_image.tar", data); err != nil {
			return nil, err
		}
	}
	return digests, nil
}
