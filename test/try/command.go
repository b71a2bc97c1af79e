package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// try is one run of the command.
type try struct {
	root          string // of the checkout
	cache         string // of test/cluster
	version, java string
	out, errs     io.Writer
	env           []string // of kubectl, helm and the plugin; nil: the environment of the process
}

// locate finds the checkout and the cache.
func (t *try) locate() error {
	var err error
	if t.root, err = os.Getwd(); err != nil {
		return fmt.Errorf("find the checkout: %w", err)
	}
	if _, err := os.Stat(filepath.Join(t.root, "test/cluster/cluster.sh")); err != nil {
		return errors.New("run this in the root of the checkout, as `make try` does")
	}
	// As in test/cluster/common.sh.
	if t.cache = os.Getenv("ULLAGE_CACHE"); t.cache != "" {
		return nil
	}
	if t.cache = os.Getenv("XDG_CACHE_HOME"); t.cache == "" {
		t.cache = filepath.Join(os.Getenv("HOME"), ".cache")
	}
	t.cache = filepath.Join(t.cache, "ullage")
	return nil
}

// step runs one of many steps and reports how long it took. The hint says what to do if it fails.
func (t *try) step(name, hint string, do func() error) error {
	fmt.Fprintf(t.errs, "try: %s ...\n", name)
	began := time.Now()
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, hint)
	}
	fmt.Fprintf(t.errs, "try: %s: %.1f s\n", name, time.Since(began).Seconds())
	return nil
}

// call runs a program and returns its stdout. Its stderr is in the error.
func (t *try) call(ctx context.Context, stdin, program string, args ...string) (string, error) {
	cmd := t.command(ctx, program, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(append([]string{filepath.Base(program)}, args...), " "), err, strings.TrimSpace(complaint.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// script runs a script of the checkout, which may take long, and returns its stdout. Its progress is shown at once.
func (t *try) script(ctx context.Context, path string, args ...string) (string, error) {
	cmd := t.command(ctx, "bash", append([]string{path}, args...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, t.errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w, see above", path, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(out.String()), nil
}

func (t *try) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = t.root, t.env
	return cmd
}

func (t *try) kubectl(ctx context.Context, args ...string) (string, error) {
	return t.call(ctx, "", "kubectl", args...)
}

// poll calls holds until it returns true or the time is over.
func poll(ctx context.Context, within time.Duration, holds func() bool) error {
	for end := time.Now().Add(within); !holds(); {
		if time.Now().After(end) {
			return fmt.Errorf("not within %s", within)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	return nil
}
