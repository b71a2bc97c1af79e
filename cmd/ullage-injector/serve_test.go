package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/kube/kubeapi"
	"github.com/ullage/ullage/test/lab"
)

// output is the output so far of a running command.
type output struct{ lab.Journal }

// wait waits for the pattern in the output. It returns the text of the pattern's first group.
func (o *output) wait(t testing.TB, pattern string) string {
	t.Helper()
	for end := time.Now().Add(lab.Patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(o.String()); m != nil {
			return m[1]
		}
	}
	t.Fatalf("no %s in:\n%s", pattern, o)
	return ""
}

// serveArgs returns arguments with a certificate and a configuration.
func serveArgs(t testing.TB) []string {
	t.Helper()
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte(`{"image": "example.com/ullage:v1"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cert, key := lab.Certificate(t, "injector.example.svc")
	return []string{"--config", config, "--tls-cert", cert, "--tls-key", key,
		"--webhook-listen", "127.0.0.1:0", "--listen", "127.0.0.1:0", "--shutdown-delay", "0s"}
}

const serveReview = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1","kind":{"group":"","version":"v1","kind":"Pod"},` +
	`"resource":{"group":"","version":"v1","resource":"pods"},"namespace":"shop","operation":"CREATE","object":{"apiVersion":"v1","kind":"Pod",` +
	`"metadata":{"generateName":"web-","labels":{"ullage.dev/inject":"true"}},"spec":{"securityContext":{"runAsUser":1000,"runAsGroup":1000},"containers":[{"name":"app","image":"app:1","env":[%s]}]}}}}`

// envVars returns variables that make a review as large as those of real pods.
func envVars() string {
	var fields []string
	for i := range 100 {
		fields = append(fields, fmt.Sprintf(`{"name":"VARIABLE_%d","value":"some value that a container is given, number %d"}`, i, i))
	}
	return strings.Join(fields, ",")
}

// postReview posts a review and returns the JSON patch of the answer.
func postReview(c *http.Client, url, review string) ([]byte, error) {
	resp, err := c.Post(url, "application/json", strings.NewReader(review))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var a struct {
		Response struct {
			Allowed bool   `json:"allowed"`
			Patch   []byte `json:"patch"`
		} `json:"response"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil || !a.Response.Allowed {
		return nil, fmt.Errorf("the answer is %s: %+v, %w", resp.Status, a, err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return a.Response.Patch, nil
}

func TestServeInjectsUntilItIsTold(t *testing.T) {
	var log output
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int, 1)
	args := serveArgs(t)
	go func() {
		done <- serveCmd(ctx, args, cli.Env{Program: "ullage-injector", Stdout: io.Discard, Stderr: &log, LookupEnv: os.LookupEnv})
	}()
	url := "https://" + log.wait(t, ` webhook=(\S+)`) + "/mutate?timeout=5s"
	admin := "http://" + log.wait(t, ` listen=(\S+)`)
	log.wait(t, `(certificate taken)`)
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer c.CloseIdleConnections()
	patch, err := postReview(c, url, fmt.Sprintf(serveReview, ""))
	if err != nil || !bytes.HasPrefix(patch, []byte("[")) {
		t.Errorf("the patch is %s, error %v; want a JSON list and no error", patch, err)
	}
	for path, want := range map[string]string{
		"/readyz":  "ready\n",
		"/healthz": "ok\n",
		"/status":  `"certificateExpiry": `,
		"/metrics": "ullage_injector_reviews_total{result=\"injected\"} 1\n",
	} {
		resp, err := c.Get(admin + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || !strings.Contains(string(body), want) {
			t.Errorf("%s: status %d, body %s; want status 200 and %q in the body", path, resp.StatusCode, body, want)
		}
	}
	cancel()
	if code := <-done; code != cli.OK {
		t.Errorf("the exit status is %d, want %d; the log is\n%s", code, cli.OK, &log)
	}
}

// Prometheus's own linter must find nothing in the metrics of an injector with all options.
func TestMetricsAreWellFormed(t *testing.T) {
	var cfg serveConfig
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	cfg.flags(fs)
	if err := fs.Parse(append(serveArgs(t), "--events")); err != nil {
		t.Fatal(err)
	}
	cfg.certs.Cluster = kubeapi.Cluster{Host: "127.0.0.1", Port: "1", CAFile: cfg.certs.TLSCert}
	if errs := cfg.load(); len(errs) > 0 {
		t.Fatalf("the errors are %v, want none", errs)
	}
	var log output
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, cfg, build.Read(version), cfg.log.Logger(&log)) }()
	resp, err := http.Get("http://" + log.wait(t, ` listen=(\S+)`) + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("the linter reports for %s: %s; want no problem", p.Metric, p.Text)
	}
	for _, name := range []string{"events_total", "reviews_total", "certificate_expiry_timestamp_seconds", "build_info"} {
		if !strings.Contains(string(text), "# TYPE ullage_injector_"+name+" ") {
			t.Errorf("no ullage_injector_%s in:\n%s", name, text)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestServeTellsAllThatIsWrongAtOnce(t *testing.T) {
	var log output
	missing := filepath.Join(t.TempDir(), "missing.yaml")
	code := serveCmd(t.Context(), []string{"--config", missing, "--tls-cert", "x", "--webhook-listen", "9443", "--listen", "x", "--log-format", "xml", "--log-level", "loud", "--shutdown-delay", "soon", "more"},
		cli.Env{Program: "ullage-injector", Stdout: io.Discard, Stderr: &log, LookupEnv: func(string) (string, bool) { return "", false }})
	if code != cli.Usage {
		t.Errorf("the exit status is %d, want %d", code, cli.Usage)
	}
	for _, want := range []string{"--config: open " + missing, "must be set together", "--webhook-listen", "--listen", "--log-format", "--log-level", "for --shutdown-delay", `"more"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in:\n%s", want, &log)
		}
	}
}

func TestServeFailsWhereItCannotStart(t *testing.T) {
	for _, c := range []struct {
		args, says string
	}{
		{"--listen", "admin listener"},
		{"--webhook-listen", "webhook's listener"},
	} {
		var log output
		args := append(serveArgs(t), c.args, "192.0.2.1:1") // an address at which no program can listen
		code := serveCmd(t.Context(), args, cli.Env{Program: "ullage-injector", Stdout: io.Discard, Stderr: &log, LookupEnv: os.LookupEnv})
		if code != cli.Failure || !strings.Contains(log.String(), c.says) {
			t.Errorf("%s: the exit status is %d, want %d and %q in the log:\n%s", c.args, code, cli.Failure, c.says, &log)
		}
	}
}

// BenchmarkServe sends 100 reviews a second to the program, over TLS, at fixed times even if earlier ones are
// unanswered. It prints the durations of the answers and the program's memory. -benchtime 1000x takes ten seconds.
func BenchmarkServe(b *testing.B) {
	program, err := lab.Build(b.TempDir(), "ullage-injector")
	if err != nil {
		b.Fatal(err)
	}
	var log output
	cmd := exec.Command(program, append([]string{"serve"}, serveArgs(b)...)...)
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	}()
	url := "https://" + log.wait(b, ` webhook=(\S+)`) + "/mutate?timeout=5s"
	log.wait(b, `(certificate taken)`)
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 25}}
	defer c.CloseIdleConnections()
	review := fmt.Sprintf(serveReview, envVars())
	took := make([]time.Duration, b.N)
	var work sync.WaitGroup
	first := time.Now()
	b.ResetTimer()
	for i := range took {
		due := first.Add(time.Duration(i) * 10 * time.Millisecond)
		time.Sleep(time.Until(due))
		work.Go(func() {
			if patch, err := postReview(c, url, review); err != nil || len(patch) == 0 {
				b.Errorf("the patch is %s, error %v; want a patch and no error", patch, err)
			}
			took[i] = time.Since(due)
		})
	}
	work.Wait()
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(residentMiB(b, cmd.Process.Pid), "resident-MiB")
}

// residentMiB returns the most memory that a process has held.
func residentMiB(b testing.TB, pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		b.Fatal(err)
	}
	return kib / 1024
}
