package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Jars returns a directory with the libraries that the pom.xml in dir requests, and with the classes of the Java
// files next to it. Maven fetches the libraries once into the cache, under a hash of all these files. say is called
// before work that takes a minute. The options are passed to javac.
func Jars(dir string, say func(format string, args ...any), options ...string) (string, error) {
	pom := filepath.Join(dir, "pom.xml")
	sources, err := filepath.Glob(filepath.Join(dir, "*.java"))
	if err != nil {
		return "", fmt.Errorf("find Java files: %w", err)
	}
	hash := sha256.New()
	for _, path := range append([]string{pom}, sources...) {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("read the pom.xml and the Java files: %w", err)
		}
		hash.Write(text)
	}
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	name := filepath.Base(dir) + "-" + hex.EncodeToString(hash.Sum(nil)[:6])
	jars := filepath.Join(cache, "servers", name)
	if _, err := os.Stat(jars); err == nil {
		return jars, nil
	}
	say("fetching the libraries of %s, once", name)
	next := jars + ".new"
	if err := os.RemoveAll(next); err != nil {
		return "", fmt.Errorf("clear the cache: %w", err)
	}
	if _, err := Command(10*time.Minute, "mvn", "-q", "-B", "-f", pom, "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+next); err != nil {
		return "", err
	}
	if len(sources) > 0 {
		args := slices.Concat(options, []string{"-d", next, "-cp", next + "/*"}, sources)
		if _, err := Command(time.Minute, "javac", args...); err != nil {
			return "", err
		}
	}
	if err := os.Rename(next, jars); err != nil {
		return "", fmt.Errorf("move the libraries into the cache: %w", err)
	}
	return jars, nil
}
