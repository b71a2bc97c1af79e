package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// repository is the address of the source repository.
const repository = "https://github.com/ullage/ullage"

// published is the registry to which the project's releases are pushed.
const published = "ghcr.io/ullage"

// byHand is the builder in the provenance of a release that a person makes.
const byHand = repository + "/blob/main/CONTRIBUTING.md#releases"

// source is the checkout that a release is built from.
type source struct {
	root     string
	version  string    // without the v
	revision string    // of the commit, with -dirty if files differ from it; empty if git cannot tell
	date     time.Time // of the commit, or SOURCE_DATE_EPOCH
	progress io.Writer

	// Set only for a release: the registry that the chart names, and the builder.
	registry, builder string
}

// validVersion is a semantic version without build metadata, because the tags of images and
// charts must not contain a plus.
var validVersion = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

func newSource(ctx context.Context, root, version string) (source, error) {
	version = strings.TrimPrefix(version, "v")
	if !validVersion.MatchString(version) {
		return source{}, fmt.Errorf("VERSION is %q, which is not a semantic version: set it, as in VERSION=0.1.0", version)
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return source{}, fmt.Errorf("find the checkout: %w", err)
	}
	s := source{root: root, version: version, progress: io.Discard}
	// A tree without git, such as an unpacked archive, has no revision.
	s.revision, _ = s.git(ctx, "describe", "--always", "--abbrev=40", "--exclude", "*", "--dirty")
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		epoch, _ = s.git(ctx, "log", "-1", "--format=%ct")
	}
	if epoch == "" {
		epoch = "0"
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return source{}, fmt.Errorf("SOURCE_DATE_EPOCH is not a number of seconds since 1970: %w", err)
	}
	s.date = time.Unix(seconds, 0).UTC()
	return s, nil
}

// git returns the output of git without the last line end.
func (s source) git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", s.root}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// build runs deploy/image/build.sh, which writes into out. If it fails, the output of the
// script and the compiler is in the error.
func (s source) build(ctx context.Context, out string, env []string, args ...string) error {
	cmd := exec.CommandContext(ctx, "bash", append([]string{"deploy/image/build.sh"}, args...)...)
	cmd.Dir = s.root
	cmd.Env = append(os.Environ(), "OUT="+out, "VERSION="+s.version, "REVISION="+s.revision,
		"SOURCE_DATE_EPOCH="+strconv.FormatInt(s.date.Unix(), 10), "GOWORK=off")
	cmd.Env = append(cmd.Env, env...)
	var complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &complaint, &complaint
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", strings.Join(args, " "), err, complaint.Bytes())
	}
	return nil
}

// image writes the archive of a program's image, for all its platforms, into out. The
// image's name begins with prefix.
func (s source) image(ctx context.Context, out, prefix string, t target) error {
	var archs []string
	for _, p := range t.platforms {
		archs = append(archs, p.arch)
	}
	s.say("building the image %s for %s", t.program, strings.Join(archs, " and "))
	return s.build(ctx, out, []string{"ARCH=" + strings.Join(archs, ","), "IMAGE_PREFIX=" + prefix}, "tar", t.program)
}

func (s source) read(name string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(s.root, name))
	if err != nil {
		return nil, fmt.Errorf("read the checkout: %w", err)
	}
	return data, nil
}

func (s source) say(format string, args ...any) {
	fmt.Fprintf(s.progress, "release: "+format+"\n", args...)
}
