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

// maxStatus limits a sidecar's answer in bytes. A real one is under 100 KiB.
const maxStatus = 1 << 20

// sidecar is one ullage in one pod.
type sidecar struct {
	cluster   cluster // in the pod's namespace
	pod       string
	container container
	several   bool     // the pod has several sidecars
	down      string   // why it cannot be queried; empty: it runs
	ended     bool     // the pod has ended, so the sidecar need not run
	raising   bool     // the pod has the annotation that requests a level
	killed    string   // describes a container of the pod that was killed recently; empty: none was
	warnings  []string // of the injector, about the pod
}

// String returns the shortest unique name of the sidecar.
func (s sidecar) String() string {
	if s.several {
		return s.pod + "/" + s.container.Name
	}
	return s.pod
}

// exec returns the arguments with which kubectl runs the sidecar's own program. The image has no shell; the program
// is on the runtime's default PATH.
func (s sidecar) exec(args ...string) []string {
	binary := "ullage"
	if cmd := s.container.Command; len(cmd) > 0 && path.IsAbs(cmd[0]) && path.Base(cmd[0]) == "ullage" {
		binary = cmd[0]
	}
	return append([]string{"exec", "pod/" + s.pod, "--container=" + s.container.Name, "--", binary}, args...)
}

// execWithStdin is like exec, with stdin.
func (s sidecar) execWithStdin(args ...string) []string {
	return slices.Insert(s.exec(args...), 1, "--stdin")
}

// setting returns the sidecar's value for a flag, from its arguments or from its environment. It is empty if there is
// no value, or if the value cannot be read from outside.
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
			value = v.Value // the last one wins
		}
	}
	return literal(value)
}

// literal returns "" for a value that the kubelet would expand.
func literal(value string) string {
	if strings.Contains(value, "$(") {
		return ""
	}
	return value
}

// statusArgs returns the arguments that query the sidecar itself. Another sidecar in the same pod has the same
// address but another port.
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

// ask queries the sidecar's status and returns it raw and decoded.
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
