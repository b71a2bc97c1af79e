package crash

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// A second sidecar on one source waits, visibly, and goes on with the lines
// where the first ended, by whatever end.
func TestASecondSidecarWaitsForTheEndOfTheFirst(t *testing.T) {
	for name, sig := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "terminated": syscall.SIGTERM, "stopped": syscall.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			source := lab.Tmpfs(t, "64m")
			flags := []string{"--attach", "off"}
			first := lab.Run(t, source, t.TempDir(), flags...)
			isReady(t, first)
			second := lab.Run(t, source, t.TempDir(), flags...)
			lab.Eventually(t, 10*time.Second, "the second says that it waits", func() bool {
				code, body, err := second.Get("/readyz")
				_, status, _ := second.Get("/status")
				return err == nil && code == 503 && strings.Contains(body, "owns the source") && strings.Contains(status, "owns the source") &&
					strings.Contains(second.Stderr(), "waiting for the owner of the source")
			})
			third := lab.Run(t, source, t.TempDir(), flags...)
			lab.Eventually(t, 10*time.Second, "the third waits", func() bool { return strings.Contains(third.Stderr(), "waiting for the owner") })
			if err := third.Stop(10 * time.Second); err != nil {
				t.Errorf("a sidecar that waits does not end: %v", err)
			}
			if err := first.Signal(sig); err != nil {
				t.Fatal(err)
			}
			isReady(t, second)
		})
	}
}

func isReady(t *testing.T, s *lab.Sidecar) {
	t.Helper()
	lab.Eventually(t, 20*time.Second, "the sidecar is ready", func() bool {
		code, _, err := s.Get("/readyz")
		return err == nil && code == 200
	})
}
