package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Settings from `make e2e`, in the environment.
var (
	enabled      = os.Getenv("ULLAGE_E2E") != ""
	imageVersion = os.Getenv("ULLAGE_E2E_VERSION") // tag of both images
	// For work on the suite: keep leaves everything behind; installed uses the release that is
	// already installed.
	keep      = os.Getenv("ULLAGE_E2E_KEEP") != ""
	installed = os.Getenv("ULLAGE_E2E_INSTALLED") != ""
)

const (
	release   = "ullage"
	chart     = "../../charts/ullage"
	system    = "ullage-system" // the release's namespace
	injector  = "deployment/ullage-injector"
	installIn = 2 * time.Minute
)

func TestMain(m *testing.M) {
	flag.Parse()
	if !enabled {
		fmt.Println("test/e2e: skipped: it needs a cluster of its own; `make e2e` starts one and runs it")
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if imageVersion == "" {
		fmt.Fprintln(os.Stderr, "test/e2e: ULLAGE_E2E_VERSION, the tag of the images, is not set: use `make e2e`")
		return 1
	}
	var err error
	if programs, err = filepath.Abs("../../bin"); err != nil {
		fmt.Fprintf(os.Stderr, "test/e2e: %v\n", err)
		return 1
	}
	began := time.Now()
	if err := sweep(); err != nil {
		fmt.Fprintf(os.Stderr, "test/e2e: cannot remove what an earlier run has left: %v\n", err)
		return 1
	}
	if !installed {
		if err := install(); err != nil {
			fmt.Fprintf(os.Stderr, "test/e2e: cannot install the chart: %v\n", err)
			return 1
		}
	}
	if err := startHelpers(); err != nil {
		fmt.Fprintf(os.Stderr, "test/e2e: cannot start pods on the nodes: %v\n", err)
		return 1
	}
	code := m.Run()
	if !keep {
		if err := endHelpers(); err != nil {
			fmt.Fprintf(os.Stderr, "test/e2e: remove the pods on the nodes: %v\n", err)
		}
	}
	if !keep && !installed {
		if out, err := helm("uninstall", release, "-n", system, "--ignore-not-found"); err != nil { // does not wait until the injectors have ended: see sweep
			fmt.Fprintf(os.Stderr, "test/e2e: uninstall: %v\n%s", err, out)
		}
	}
	figures.add("the suite", time.Since(began).Round(time.Second).String(), "6m0s")
	if err := printFigures(); err != nil {
		fmt.Fprintf(os.Stderr, "test/e2e: %v\n", err)
		return 1
	}
	return code
}

// programs is the directory in which `make e2e` has built our programs.
var programs string

// program returns the path of one of our programs.
func program(name string) string { return filepath.Join(programs, name) }

// printFigures writes the table to the file that `make e2e` names, or else to stdout, which go test
// shows only if the run failed.
func printFigures() error {
	path := os.Getenv("ULLAGE_E2E_TABLE")
	if path == "" {
		figures.print(os.Stdout)
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("print the figures: %w", err)
	}
	figures.print(f)
	return f.Close()
}

// chartValues are the values of every installation of the suite. Images are
// loaded into the nodes, so that nothing is pulled.
func chartValues() []string {
	return []string{
		"--set", "registry=localhost,image.pullPolicy=Never",
		"--set-string", "image.tag=" + imageVersion,
		"--set", "sidecar.image.pullPolicy=Never",
		"--set-string", "sidecar.image.tag=" + imageVersion,
	}
}

// install installs the chart, or restores the settings that the suite expects. The first webhook calls may fail
// because the Service's rules are not in place yet, so install returns only after a pod was injected.
func install(more ...string) error {
	args := append([]string{"upgrade", "--install", release, chart, "-n", system, "--create-namespace", "--reset-values", "--wait", "--timeout", installIn.String()}, chartValues()...)
	if out, err := helm(append(args, more...)...); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return injects(time.Minute)
}

// injects waits until a new pod is injected.
func injects(within time.Duration) error {
	pod := jvmPod{Name: "probe", JDK: 25}.manifest()
	end := time.Now().Add(within)
	for {
		out, err := kubectl(pod, "-n", "default", "create", "-f", "-", "--dry-run=server", "-o", "jsonpath={.metadata.annotations.ullage\\.dev/injected}")
		if err == nil && strings.Contains(out, `"sidecar":"ullage"`) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("a pod with the label is not injected after %s: %v\n%s", within, err, out)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
