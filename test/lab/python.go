package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Python returns the path of a Python interpreter with the required packages. The requirements have pip's syntax. The
// interpreter is in a virtual environment in the cache. The name of the environment must contain the packages'
// versions. The environment is created once, from the network, which takes up to a minute.
func Python(name string, requirements ...string) (python string, err error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "python", name)
	python = filepath.Join(dir, "bin", "python")
	ready := filepath.Join(dir, "installed") // the file that is written last
	if _, err := os.Stat(ready); err == nil {
		return python, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("create the directory of the virtual environment: %w", err)
	}
	lock, err := os.Open(dir)
	if err != nil {
		return "", fmt.Errorf("create the directory of the virtual environment: %w", err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil { // the test of another package may install the same packages
		return "", fmt.Errorf("wait for another installation of %s: %w", name, err)
	}
	if _, err := os.Stat(ready); err == nil {
		return python, nil
	}
	for _, command := range [][]string{
		{"python3", "-m", "venv", "--clear", dir},
		append([]string{python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"}, requirements...),
	} {
		if _, err := Command(10*time.Minute, command[0], command[1:]...); err != nil {
			return "", err
		}
	}
	if err := os.WriteFile(ready, nil, 0o644); err != nil {
		return "", fmt.Errorf("keep Python's packages: %w", err)
	}
	return python, nil
}
