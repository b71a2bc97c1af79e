package e2e

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// livePage returns the live page of a pod or a workload, and the data that the page requests. It runs `kubectl
// ullage open` with the settings in its environment.
func livePage(s *space, settings []string, target string) (page, recent string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "env", slices.Concat(settings, []string{"kubectl", "ullage", "-n", s.name, "open", target})...)
	out, err := cmd.StdoutPipe()
	s.must("", err)
	s.must("", cmd.Start())
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt) // fails only if the command has ended
		if err := cmd.Wait(); err != nil {
			s.Errorf("kubectl ullage open, interrupted: %v", err)
		}
	}()
	url, err := bufio.NewReader(out).ReadString('\n')
	url = s.must(strings.TrimSpace(url), err)
	get := func(path string) string {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+path, nil)
		s.must("", err)
		req.Header.Set("Accept", "text/html")
		resp, err := http.DefaultClient.Do(req)
		s.must("", err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return s.must(string(body), err)
	}
	return get(""), get("recent")
}
