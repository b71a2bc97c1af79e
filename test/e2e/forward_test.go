package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// forwarded is a port of a pod that is forwarded to an address of this machine until the end of the test. A
// kubectl port-forward ends when the node closes a connection first, and at once if the pod is ending. The next
// call of address then starts another kubectl.
type forwarded struct {
	*space
	namespace, pod string
	port           int

	at    string        // of the running kubectl
	ended chan struct{} // closed when that kubectl has ended; nil: not started
}

// address returns the address, or an error if the port cannot be forwarded now.
func (f *forwarded) address() (string, error) {
	if f.ended != nil {
		select {
		case <-f.ended:
		default:
			return f.at, nil
		}
	}
	f.ended = nil
	if err := f.start(); err != nil {
		return "", fmt.Errorf("forward a port of %s: %w", f.pod, err)
	}
	return f.at, nil
}

// start starts a kubectl and waits for the address in its first line.
func (f *forwarded) start() error {
	cmd := exec.Command("kubectl", "-n", f.namespace, "port-forward", "pod/"+f.pod, fmt.Sprintf(":%d", f.port), "--pod-running-timeout=10s")
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	kill := func() { _ = cmd.Process.Kill() }
	bound := time.AfterFunc(20*time.Second, kill)
	defer bound.Stop()
	lines := bufio.NewReader(out)
	line, _ := lines.ReadString('\n') // if kubectl ends without a line, that is reported below
	// Forwarding from 127.0.0.1:41523 -> 9443
	_, rest, _ := strings.Cut(line, " from ")
	at, _, ok := strings.Cut(rest, " -> ")
	if !ok {
		kill()
		_ = cmd.Wait()
		return fmt.Errorf("kubectl prints %q and %q", line, strings.TrimSpace(complaint.String()))
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, lines) // ends with kubectl
		_ = cmd.Wait()
	}()
	f.Cleanup(func() { kill(); <-ended })
	f.at, f.ended = at, ended
	return nil
}
