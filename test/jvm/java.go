package jvm

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/ullage/ullage/test/lab"
)

//go:embed testdata/*.java
var sources embed.FS

// Compile compiles the Java programs of testdata into an empty directory, so that they run on every
// supported version, and returns the class path.
func Compile(jdk lab.JDK, dir string) (classes string, err error) {
	if err := os.CopyFS(dir, sources); err != nil {
		return "", fmt.Errorf("compile Java: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "testdata", "*.java"))
	if err != nil {
		return "", fmt.Errorf("compile Java: %w", err)
	}
	classes = filepath.Join(dir, "classes")
	return classes, jdk.CompileFor(11, classes, files...)
}

// Collector is a garbage collector and the flags that select it.
type Collector struct {
	Name  string
	Flags []string
}

// Collectors returns the collectors that a JVM has. It tries each, since vendors leave some out.
func Collectors(jdk lab.JDK) ([]Collector, error) {
	candidates := []Collector{
		{"serial", []string{"-XX:+UseSerialGC"}},
		{"parallel", []string{"-XX:+UseParallelGC"}},
		{"g1", []string{"-XX:+UseG1GC"}},
		{"z", []string{"-XX:+UseZGC"}},
		{"shenandoah", []string{"-XX:+UseShenandoahGC"}},
		// Epsilon never collects, so it needs room for everything that the program allocates.
		{"epsilon", []string{"-XX:+UnlockExperimentalVMOptions", "-XX:+UseEpsilonGC", "-Xmx1g"}},
	}
	if jdk.Version >= 21 && jdk.Version <= 23 { // earlier JDKs have no generational ZGC, later JDKs have no other ZGC
		candidates = append(candidates, Collector{"z-generational", []string{"-XX:+UseZGC", "-XX:+ZGenerational"}})
	}
	if jdk.Version >= 24 {
		candidates = append(candidates, Collector{"shenandoah-generational",
			[]string{"-XX:+UnlockExperimentalVMOptions", "-XX:+UseShenandoahGC", "-XX:ShenandoahGCMode=generational"}})
	}
	var found []Collector
	for _, c := range candidates {
		err := exec.Command(jdk.Java(), append(slices.Clone(c.Flags), "--version")...).Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("ask for collectors: %w", err)
		}
		found = append(found, c)
	}
	return found, nil
}
