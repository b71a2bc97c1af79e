package sinks

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

// A server may repeat a request in its error message. Even then, no log, status, metric or argument of the sidecar
// contains a secret of the sinks.
func TestSecretsAreShownNowhere(t *testing.T) {
	secrets := []string{"hidden-s3-secret", "hidden-otlp-token", "hidden-password", "aGlkZGVu"} // the last is "hidden" in base64
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, "refused: %v", r.Header)
	}))
	defer echo.Close()
	address := strings.TrimPrefix(echo.URL, "http://")
	headers := filepath.Join(t.TempDir(), "headers")
	writeFile(t, headers, "X-Token: hidden-otlp-token\nAuthorization: Basic aGlkZGVuOmhpZGRlbi1wYXNzd29yZA==\n", 0o600) // hidden:hidden-password
	source, dest := lab.Tmpfs(t, "16m"), t.TempDir()
	cmd := exec.Command(lab.Binary(), "run", "--source", source, "--dest", dest, "--listen", "127.0.0.1:0", "--log-level", "debug", "--upload-age", "1s",
		"--sink", "s3://logs/x?endpoint="+escaped(echo.URL)+"&region=us-east-1&path-style=true",
		"--sink", "otlp+http://"+address+"/v1/logs?headers="+escaped(headers),
		"--sink", "kafka://"+address+"/jvm?sasl=scram-sha-512&tls=true")
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=hidden-s3-secret",
		"OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20hidden-otlp-token",
		"KAFKA_USERNAME=ullage", "KAFKA_PASSWORD=hidden-kafka-password")
	secrets = append(secrets, "hidden-kafka-password")
	side, err := lab.StartCommand(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer side.Kill()
	if _, err := side.Addr(patience); err != nil {
		t.Fatalf("%v\n%s", err, side.Stderr())
	}
	writeFile(t, filepath.Join(source, "gc.log"), "[0.100s][info][gc] one\n", 0o644)
	var shown string
	lab.Eventually(t, 2*patience, "all sinks have failed", func() bool {
		_, status, err := side.Get("/status")
		shown = status
		return err == nil && strings.Count(status, `"failure"`) == 3
	})
	_, metrics, err := side.Get("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", side.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"log": side.Stderr(), "status": shown, "metrics": metrics, "arguments": string(arguments)} {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("the %s shows the secret %q, want no secret:\n%s", where, secret, text)
			}
		}
	}
}
