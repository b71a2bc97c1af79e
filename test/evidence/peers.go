package main

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// configs are the configurations of the peers. They follow the recommendations in the peers' documentation for
// files that rotate and for restarts.
//
//go:embed peers/*
var configs embed.FS

// peer is a shipper of another project.
type peer struct {
	name    string
	program string // its name on the PATH; empty: it is always built
	config  string // its file in the directory peers
	version []string
	args    func(root, config string, p place) []string
	built   lab.Program // how to build it from Go modules if it is not on the PATH; the zero value: it is not built
	pushes  bool        // it pushes lines to a receiver, which writes them to a file
}

var peers = []peer{
	{name: "rsyslog", program: "rsyslogd", config: "rsyslog.conf", version: []string{"-v"}, args: func(root, config string, p place) []string {
		args := []string{"-n", "-f", config, "-i", filepath.Join(p.state, "pid")}
		if root != "" {
			args = append(args, "-M", filepath.Join(root, "usr/lib/x86_64-linux-gnu/rsyslog"))
		}
		return args
	}},
	{name: "syslog-ng", program: "syslog-ng", config: "syslog-ng.conf", version: []string{"-V"}, args: func(root, config string, p place) []string {
		args := []string{"-F", "--no-caps", "-f", config, "-R", filepath.Join(p.state, "persist"), "-p", filepath.Join(p.state, "pid"), "-c", filepath.Join(p.state, "control")}
		if root != "" {
			args = append(args, "--module-path", filepath.Join(root, "usr/lib/syslog-ng/3.38"))
		}
		return args
	}},
	{name: "OpenTelemetry Collector", config: "filelog.yaml", built: lab.FilelogProgram, args: func(_, config string, _ place) []string { return []string{"--config", config} }},
	{name: "Filebeat", program: "filebeat", config: "filebeat.yml", version: []string{"version"}, built: lab.FilebeatProgram, args: func(_, config string, _ place) []string { return []string{"-e", "-c", config} }},
	{name: "vlagent", config: "vlagent.args", built: lab.VlagentProgram, pushes: true, args: func(_, config string, _ place) []string { return argumentsIn(config) }},
	{name: "Fluent Bit", program: "fluent-bit", config: "fluent-bit.yaml", version: []string{"--version"}, args: func(_, config string, _ place) []string { return []string{"-c", config} }},
	{name: "Vector", program: "vector", config: "vector.yaml", version: []string{"--version"}, args: func(_, config string, _ place) []string { return []string{"--quiet", "--config", config} }},
}

// The rows of the sidecar that are only measured with -limits.
const (
	blindName = "ullage, zstd, without the metrics of the JVM"
	armedName = "ullage, zstd, with a trigger"
)

// shippers returns the contestants: the sidecar with and without compression, and each peer that is installed or
// can be fetched. With -limits, there are no peers, but the sidecar also takes part with settings that should cost
// little.
func (e *evidence) shippers() ([]*contestant, error) {
	all := []*contestant{e.sidecar("ullage, none", "none"), e.sidecar("ullage, zstd", "zstd")}
	if e.alone {
		notes := filepath.Join(e.shm, "armed")
		err := os.WriteFile(notes, []byte("ullage.dev/trigger=\"pause>10s\"\n"), 0o644)
		return append(all, e.sidecar(blindName, "zstd", "--jvm-metrics=false"), e.sidecar(armedName, "zstd", "--annotations", notes)), err
	}
	cache, err := lab.CacheDir()
	if err != nil {
		return nil, err
	}
	root := filepath.Join(cache, "peers")
	if out, err := exec.CommandContext(e.ctx, "test/evidence/peers.sh", root).CombinedOutput(); err != nil {
		fmt.Printf("rsyslog and syslog-ng could not be downloaded: %v\n%s", err, out)
	}
	e.absent = []string{"Promtail and Grafana Alloy push to Loki alone, in its own protocol, and nothing here receives that"}
	for _, p := range peers {
		c, missing, err := e.contestant(p, root)
		if err != nil {
			return nil, err
		}
		if c == nil {
			e.absent = append(e.absent, p.name+" "+missing)
			continue
		}
		all = append(all, c)
	}
	return all, nil
}

// sidecar returns a contestant. The flags in last override the other flags.
func (e *evidence) sidecar(name, compress string, last ...string) *contestant {
	flags := append([]string{"--compress", compress, "--budget", "64Mi", "--listen", "127.0.0.1:0", "--retain-bytes", "100Gi", "--drain-timeout", "10m"}, last...)
	return &contestant{name: name, ullage: true, config: "ullage run --source DIR --dest DIR " + strings.Join(flags, " "),
		command: func(ctx context.Context, p place) (*exec.Cmd, error) {
			return exec.CommandContext(ctx, e.ullage, append([]string{"run", "--source", p.source, "--dest", p.dest}, flags...)...), nil
		}}
}

// contestant finds the program of a peer, or returns why it is missing.
func (e *evidence) contestant(p peer, root string) (c *contestant, missing string, err error) {
	text, err := configs.ReadFile("peers/" + p.config)
	if err != nil {
		return nil, "", err
	}
	t, err := template.New(p.config).Parse(string(text))
	if err != nil {
		return nil, "", fmt.Errorf("parse the configuration of %s: %w", p.name, err)
	}
	program, env, missing := p.find(root)
	if env == nil {
		root = "" // an installed program finds its own modules
	}
	if program == "" {
		return nil, missing, nil
	}
	shown := string(text)
	if p.pushes {
		shown += "\n(It pushes by HTTP. The program that measures receives the lines and writes them to a file; its CPU time is not counted.)"
	}
	return &contestant{name: p.name, version: p.asked(program, env), config: shown,
		command: func(ctx context.Context, at place) (*exec.Cmd, error) {
			config := filepath.Join(at.state, p.config)
			f, err := os.Create(config)
			if err != nil {
				return nil, err
			}
			values := map[string]string{"Source": at.source, "Dest": at.dest, "State": at.state}
			if p.pushes {
				if values["Receiver"], err = receive(ctx, filepath.Join(at.dest, "out.log")); err != nil {
					return nil, err
				}
			}
			err = t.Execute(f, values)
			if err := f.Close(); err != nil {
				return nil, err
			}
			cmd := exec.CommandContext(ctx, program, p.args(root, config, at)...)
			cmd.Env = append(os.Environ(), env...)
			return cmd, err
		}}, "", nil
}

// find returns the path of the program, or why it is missing. For a program below root, it also returns the
// environment that the program needs.
func (p peer) find(root string) (program string, env []string, missing string) {
	if p.program != "" {
		if path, err := exec.LookPath(p.program); err == nil {
			return path, nil, ""
		}
	}
	if p.built != (lab.Program{}) {
		path, err := p.built.Build(func(format string, args ...any) { fmt.Printf(format+"\n", args...) })
		if err != nil {
			fmt.Printf("%s could not be built: %v\n", p.name, err)
			return "", nil, "could not be built from its Go modules"
		}
		return path, nil, ""
	}
	path := filepath.Join(root, "usr/sbin", p.program)
	if _, err := os.Stat(path); err != nil {
		return "", nil, "is not on the PATH, and not in the Go modules or the Debian packages that are fetched"
	}
	var dirs []string
	for _, dir := range []string{"lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "usr/lib/syslog-ng"} {
		dirs = append(dirs, filepath.Join(root, dir))
	}
	return path, []string{"LD_LIBRARY_PATH=" + strings.Join(dirs, ":")}, ""
}

var numbered = regexp.MustCompile(`\d+\.\d+(\.\d+)?`)

// asked returns the version that a program reports.
func (p peer) asked(program string, env []string) string {
	if p.version == nil {
		_, version, _ := strings.Cut(filepath.Base(program), "-v")
		return version
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, p.version...)
	cmd.Env = append(os.Environ(), env...)
	out, _ := cmd.CombinedOutput() // if the program fails, its version stays empty
	return numbered.FindString(string(out))
}
