package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/ullage/ullage/test/lab"
)

// chartMemory returns the memory limit that the chart gives the injector.
func chartMemory(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("../../charts/ullage/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values struct {
		Resources struct {
			Limits struct{ Memory resource.Quantity }
		}
	}
	if err := yaml.Unmarshal(text, &values); err != nil || values.Resources.Limits.Memory.IsZero() {
		t.Fatalf("no memory limit in the chart's values: %v", err)
	}
	return values.Resources.Limits.Memory.Value()
}

// start runs the program as a container of the chart does and returns the URL of
// its webhook.
func start(t *testing.T, limit int64) (cmd *exec.Cmd, url string) {
	t.Helper()
	// The test does not run its own binary, because the race detector makes that binary use more memory.
	program, err := lab.Build(t.TempDir(), "ullage-injector")
	if err != nil {
		t.Fatal(err)
	}
	var log output
	cmd = exec.Command(program, append([]string{"serve"}, serveArgs(t)...)...)
	cmd.Stderr = &log
	cmd.Env = append(os.Environ(), fmt.Sprintf("GOMEMLIMIT=%d", limit/10*9)) // as the program would set it for its cgroup
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the injector ended with %v, want no error:\n%s", err, &log)
		}
	})
	url = "https://" + log.wait(t, ` webhook=(\S+)`) + "/mutate?timeout=10s"
	log.wait(t, `(certificate taken)`)
	return cmd, url
}

// Any program in a cluster's network can post reviews. A tenant can create pods, for which the API server posts reviews.
func TestNoReviewsTakeMoreMemoryThanTheChartGives(t *testing.T) {
	limit := chartMemory(t)
	cmd, url := start(t, limit)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: 2 * time.Minute}
	defer client.CloseIdleConnections()
	const review = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","kind":{"group":"","version":"v1","kind":"Pod"},` +
		`"resource":{"group":"","version":"v1","resource":"pods"},"operation":"CREATE","namespace":"n","object":{"apiVersion":"v1","kind":"Pod","metadata":{},"spec":%s}}}`
	list := func(begin, element string, n int, end string) string {
		return fmt.Sprintf(review, begin+strings.Repeat(element+",", n-1)+element+end)
	}
	// An accepted review has at most 20,000 elements; 100 of them are left for the elements around the list.
	const most = 20_000 - 100
	for _, c := range []struct {
		name, text string
		together   int
	}{
		{"300 KB of empty containers", list(`{"containers":[`, `{}`, 100_000, `]}`), 4},
		{"empty containers with an API server's defaults", list(`{"containers":[`, `{"name":"","resources":{}}`, 50_000, `]}`), 4},
		{"numbers", list(`{"containers":[{"name":"a"}],"x":[`, `0`, 1_500_000, `]}`), 4},
		{"as many containers as are allowed", list(`{"containers":[`, `{}`, most, `]}`), 24},
		{"as many as an API server may send", list(`{"containers":[`, `{"name":"","resources":{}}`, most/2, `]}`), 16},
		{"as many volumes", list(`{"containers":[{"name":"a"}],"volumes":[`, `{}`, most, `]}`), 24},
		{"as many variables", list(`{"containers":[{"name":"a","env":[`, `{"name":"variable"}`, most, `]}]}`), 16},
		{"as many objects", list(`{"containers":[{"name":"a"}],"x":[`, `{"":0}`, most, `]}`), 16},
		{"3 MB of text", list(`{"containers":[{"name":"a","env":[`, `{"name":"variable","value":"`+strings.Repeat("\\u00fc", 1000)+`"}`, 500, `]}]}`), 8},
	} {
		var work sync.WaitGroup
		for range c.together {
			work.Go(func() {
				resp, err := client.Post(url, "application/json", strings.NewReader(c.text))
				if err != nil {
					t.Errorf("%s: error %v, want an answer", c.name, err)
					return
				}
				defer resp.Body.Close()
				// A large review may time out while it waits for others.
				if answer, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusServiceUnavailable && !bytes.Contains(answer, []byte(`"allowed":true`)) {
					t.Errorf("%s: status %s, error %v, answer %.200s; want the pod allowed, or status %d", c.name, resp.Status, err, answer, http.StatusServiceUnavailable)
				}
			})
		}
		work.Wait()
		most := residentMiB(t, cmd.Process.Pid)
		t.Logf("%s: %.0f MiB at most so far", c.name, most)
		if most > float64(limit>>20) {
			t.Fatalf("%d concurrent reviews (%s): the injector took %.0f MiB, want at most the chart's limit, %d MiB", c.together, c.name, most, limit>>20)
		}
	}
}

// An injector that refused large pods would be as useless as one that does not run.
func TestLargePodsAreInjected(t *testing.T) {
	_, url := start(t, chartMemory(t))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: 2 * time.Minute}
	defer client.CloseIdleConnections()
	variables := func(n int, value string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{"name":"VARIABLE_%d","value":%q}`, i, value))
		}
		return strings.Join(all, ",")
	}
	for name, env := range map[string]string{
		"3,000 variables":             variables(3000, "value"),
		"500 variables of 5 KB":       variables(500, strings.Repeat("v", 5000)),
		"one variable of almost 3 MB": variables(1, strings.Repeat("v", 3<<20-2000)),
	} {
		if patch, err := postReview(client, url, fmt.Sprintf(serveReview, env)); err != nil || !bytes.Contains(patch, []byte(`"ullage"`)) {
			t.Errorf("%s: the patch is %.200s, error %v; want a patch with \"ullage\" in it and no error", name, patch, err)
		}
	}
}
