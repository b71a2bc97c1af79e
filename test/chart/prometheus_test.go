package chart

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// prometheusPrograms returns the directory of prometheus and promtool. If the machine lacks them, they are unpacked
// from their Debian package into the cache. The package is not installed, since an installed Prometheus would start
// as a service.
var prometheusPrograms = sync.OnceValues(func() (string, error) {
	if prometheus, err := exec.LookPath("prometheus"); err == nil {
		if promtool, err := exec.LookPath("promtool"); err == nil && filepath.Dir(promtool) == filepath.Dir(prometheus) {
			return filepath.Dir(prometheus), nil
		}
	}
	cache, err := lab.CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "servers", "prometheus-debian")
	programs := filepath.Join(dir, "usr", "bin")
	if _, err := os.Stat(filepath.Join(programs, "promtool")); err == nil {
		return programs, nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return "", errors.New("put both into one directory in PATH")
	}
	return programs, unpackPrometheus(dir)
})

func unpackPrometheus(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "prometheus-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	// apt's own download user could not write to the directory. Without package lists apt finds nothing; with old lists
	// it may find no file.
	const script = `cd "$1"
get() { apt-get -qq -o APT::Sandbox::User=root "$@" </dev/null; }
get download prometheus || { get update && get download prometheus; }
dpkg-deb -x prometheus_*.deb unpacked`
	if _, err := lab.Command(5*time.Minute, "bash", "-euc", script, "bash", work); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(work, "unpacked"), dir); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}
