package lab

import (
	"cmp"
	"errors"
	"fmt"
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

// Java and Javac are the paths of its programs.
func (j JDK) Java() string  { return filepath.Join(j.Home, "bin", "java") }
func (j JDK) Javac() string { return filepath.Join(j.Home, "bin", "javac") }

// String names it in the name of a test: "jdk17".
func (j JDK) String() string { return "jdk" + strconv.Itoa(j.Version) }

// ErrNoJDK says what to do where there is none.
var ErrNoJDK = errors.New("no JDK 17 or later is installed: install one (on Debian: apt-get install openjdk-17-jdk-headless) or set JAVA_HOME")

var javaVersion = regexp.MustCompile(`(?m)^JAVA_VERSION="(\d+)`)

// JDKs returns every JDK 17 or later that JAVA_HOME, PATH or /usr/lib/jvm name,
// one for each version, the oldest first; or ErrNoJDK.
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
	var jdks []JDK
	for _, j := range byVersion {
		jdks = append(jdks, j)
	}
	if len(jdks) == 0 {
		return nil, ErrNoJDK
	}
	slices.SortFunc(jdks, func(a, b JDK) int { return cmp.Compare(a.Version, b.Version) })
	return jdks, nil
}

// Compile compiles Java source files into a directory, for every JDK 17 or later.
func (j JDK) Compile(dir string, sources ...string) error {
	args := append([]string{"--release", "17", "-d", dir}, sources...)
	if out, err := exec.Command(j.Javac(), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("compile with %s: %w\n%s", j.Javac(), err, out)
	}
	return nil
}

// NeedsJDKs is JDKs for a test, which cannot run where there is none.
func NeedsJDKs(tb testing.TB) []JDK {
	tb.Helper()
	jdks, err := JDKs()
	if err != nil {
		Needs(tb, "a JDK: "+err.Error())
	}
	return jdks
}

// Classes compiles Java source files for a test, and returns the class path.
func (j JDK) Classes(tb testing.TB, sources ...string) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := j.Compile(dir, sources...); err != nil {
		tb.Fatal(err)
	}
	return dir
}
