package lab

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Build builds the server into the cache, unless it is already there, and returns its path. say is called before work
// that takes minutes.
func (p Program) Build(say func(format string, args ...any)) (string, error) {
	module, err := Command(time.Minute, "go", "env", "GOMOD")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(filepath.Dir(strings.TrimSpace(module)), "test", "servers", p.dir)
	version, err := Command(time.Minute, "go", "list", "-C", dir, "-m", "-f", "{{.Version}}", p.module)
	if err != nil {
		return "", err
	}
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	name := filepath.Base(p.program) + "-" + strings.TrimSpace(version)
	path := filepath.Join(cache, "servers", name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	say("building %s, once (about two minutes)", name)
	// Another test may build the same server at the same time.
	made := fmt.Sprintf("%s.%d", path, os.Getpid())
	if _, err := Command(time.Hour, "nice", "go", "build", "-C", dir, "-ldflags", "-s -w", "-o", made, p.program); err != nil {
		return "", err
	}
	if err := os.Rename(made, path); err != nil {
		return "", fmt.Errorf("move the server into the cache: %w", err)
	}
	return path, nil
}

// CacheDir returns the directory in which built and downloaded files are kept.
func CacheDir() (string, error) {
	if cache := os.Getenv("ULLAGE_CACHE"); cache != "" {
		return cache, nil
	}
	home, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache: %w", err)
	}
	return filepath.Join(home, "ullage"), nil
}

// Command runs a command and returns its output. If the command fails, the error includes the
// output.
func Command(within time.Duration, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod -trimpath -buildvcs=false")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// FreePort returns a port of the loopback interface that no process listens on.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
