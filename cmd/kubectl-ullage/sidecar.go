package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/settings"
)

// maxStatus bounds a sidecar's answer, in bytes. A real one is under 100 KiB.
const maxStatus = 1 << 20

// sidecar is one ullage in one pod.
type sidecar struct {
	cluster   cluster // in the pod's namespace
	pod       string
	container container
	several   bool     // the pod has more than this one
	down      string   // why it cannot be asked; empty: it runs
	ended     bool     // so has its pod: no fault that it does not run
	raising   bool     // the pod has the annotation that asks for a level
	killed    string   // the container of the pod that was killed lately; empty: none was
	warnings  []string // of the injector, about the pod
}

// String names the sidecar as short as can be.
func (s sidecar) String() string {
	if s.several {
		return s.pod + "/" + s.container.Name
	}
	return s.pod
}

// exec returns the arguments that make kubectl run the sidecar's own program.
// The image has no shell; the program is on the path that a runtime sets.
func (s sidecar) exec(args ...string) []string {
	binary := "ullage"
	if cmd := s.container.Command; len(cmd) > 0 && path.IsAbs(cmd[0]) && path.Base(cmd[0]) == "ullage" {
		binary = cmd[0]
	}
	return append([]string{"exec", "pod/" + s.pod, "--container=" + s.container.Name, "--", binary}, args...)
}

// execWithStdin is exec with a stdin.
func (s sidecar) execWithStdin(args ...string) []string {
	return slices.Insert(s.exec(args...), 1, "--stdin")
}

// setting returns the sidecar's value for a flag: from the flag, or from its
// environment. Empty: nothing, or nothing that can be read from outside.
func (s sidecar) setting(flag string) string {
	for i, arg := range s.container.Args {
		name, value, ok := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case name != flag || !strings.HasPrefix(arg, "-"):
		case ok:
			return literal(value)
		case i+1 < len(s.container.Args):
			return literal(s.container.Args[i+1])
		}
	}
	value := ""
	for _, v := range s.container.Env {
		if v.Name == settings.EnvName(flag) {
			value = v.Value // of two, the later counts
		}
	}
	return literal(value)
}

// literal drops a value that the kubelet expands.
func literal(value string) string {
	if strings.Contains(value, "$(") {
		return ""
	}
	return value
}

// statusArgs asks the sidecar itself, and not a neighbour in the same pod,
// which has the same address and another port.
func (s sidecar) statusArgs() []string {
	args := []string{"status", "--json"}
	host, port, err := net.SplitHostPort(s.setting("listen"))
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || s.setting("addr") != "" {
		return args
	}
	if ip, err := netip.ParseAddr(host); err != nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return append(args, "--addr="+net.JoinHostPort(host, port))
}

// ask asks the sidecar how it is doing and returns its answer raw and decoded.
func (s sidecar) ask(ctx context.Context) (json.RawMessage, admin.Status, error) {
	if s.down != "" {
		return nil, admin.Status{}, errors.New(s.down)
	}
	out, err := s.cluster.run(ctx, maxStatus, s.exec(s.statusArgs()...)...)
	if err != nil {
		return nil, admin.Status{}, err
	}
	st, err := parseStatus(out)
	return out, st, err
}

// parseStatus reads what `ullage status --json` printed.
func parseStatus(text []byte) (admin.Status, error) {
	var st *admin.Status
	if err := json.Unmarshal(text, &st); err != nil {
		return admin.Status{}, fmt.Errorf("decode the sidecar's answer: %w", err)
	}
	if st == nil {
		return admin.Status{}, errors.New("decode the sidecar's answer: it is empty")
	}
	return *st, nil
}
