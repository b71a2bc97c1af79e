package chart

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/ullage/ullage/test/lab"
)

var update = flag.Bool("update", false, "rewrite the goldens, the chart's README and the list of settings in its schema instead of comparing them")

const (
	chartDir = "../../charts/ullage"
	// kubeVersion is the version for which the chart is rendered: the oldest that it supports.
	kubeVersion = "1.29.0"
	// registry is the registry of the images in the tests.
	registry = "registry.example/team"
)

// helm returns the path of helm 3: the one from test/cluster, whose version is known, or else the one on the PATH.
var helm = sync.OnceValues(func() (string, error) {
	if path, err := builtHelm(); err == nil {
		return path, nil
	}
	path, err := exec.LookPath("helm")
	if err != nil {
		return "", errors.New("helm 3, which make chart builds")
	}
	return path, nil
})

var kubernetesModule = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v\S+)`)

// builtHelm returns the helm in the cache of test/cluster.
func builtHelm() (string, error) {
	cache := os.Getenv("ULLAGE_CACHE")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(dir, "ullage")
	}
	mod, err := os.ReadFile("../cluster/kubernetes/go.mod")
	if err != nil {
		return "", err
	}
	m := kubernetesModule.FindSubmatch(mod)
	if m == nil {
		return "", errors.New("test/cluster/kubernetes/go.mod names no version of Kubernetes")
	}
	path := filepath.Join(cache, "kubernetes-"+string(m[1]), "helm")
	_, err = os.Stat(path)
	return path, err
}

// needHelm returns the path of helm, or skips the test if there is no helm.
func needHelm(t *testing.T) string {
	t.Helper()
	path, err := helm()
	if err != nil {
		lab.Needs(t, err.Error())
	}
	return path
}

// runHelm returns the output of helm. Helm's own files are in a directory of the test, and helm cannot reach a cluster.
func runHelm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	path := needHelm(t)
	home := t.TempDir()
	cmd := exec.Command(path, args...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + filepath.Join(home, "none")}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("helm %s: %w\n%s", args[0], err, stderr.String())
	}
	return stdout.String(), nil
}

// A rendering is the chart as the tests examine it: with the values in testdata/values/NAME.yaml, as a release in a
// namespace. Its expected result is in testdata/golden.
type rendering struct {
	name, release, namespace string
}

var renderings = []rendering{
	{"default", "ullage", "ullage-system"},
	{"names", "everything-that-has-a-name-of-its-own", "logging"},
	{"certmanager", "ullage", "ullage-system"},
	{"issuer", "logs", "observability"},
	{"secret", "ullage", "ullage-system"},
	{"monitors", "ullage", "ullage-system"},
	{"everything", "everything-that-has-a-name-of-its-own", "logging"},
	{"bare", "ullage", "default"},
}

var rendered sync.Map // rendering → func() (string, error)

// render returns all objects of a rendering, as YAML documents.
func (r rendering) render(t *testing.T) string {
	t.Helper()
	needHelm(t) // skipping the test within the function below would cause a panic
	once, _ := rendered.LoadOrStore(r, sync.OnceValues(func() (string, error) {
		return runHelm(t, "template", r.release, chartDir, "--namespace", r.namespace,
			"--kube-version", kubeVersion, "--values", filepath.Join("testdata/values", r.name+".yaml"))
	}))
	text, err := once.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// each runs a test on every rendering.
func each(t *testing.T, test func(t *testing.T, r rendering, objects []object)) {
	for _, r := range renderings {
		t.Run(r.name, func(t *testing.T) { test(t, r, decode(t, r.render(t))) })
	}
}

// template renders the chart with values, which are YAML, as the release
// "ullage" in the namespace "ullage-system".
func template(t *testing.T, values string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	return runHelm(t, "template", "ullage", chartDir, "--namespace", "ullage-system", "--kube-version", kubeVersion, "--set", "registry="+registry, "--values", file)
}

// checkFile compares a file with its expected content or, with -update, writes that content.
func checkFile(t *testing.T, path, want string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil && string(text) == want {
		return
	}
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s differs from its expected content; go test ./test/chart -update writes it, and git diff shows it to a reviewer:\n%s",
		path, diff.Diff(path, text, "expected", []byte(want)))
}
