package sinks

import (
	"context"
	"crypto/tls"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

func TestMain(m *testing.M) { lab.Main(m) }

const patience = 30 * time.Second

// server builds a program of test/servers into the cache, unless it is there.
func server(t *testing.T, module, program string) string {
	t.Helper()
	return built(t, "../servers", module, program)
}

func command(within time.Duration, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod -buildvcs=false")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// gateway is an S3 server over TLS, whose buckets are directories.
type gateway struct {
	identity
	root   string
	port   int
	secret string
	cmd    *exec.Cmd
}

const bucketName = "logs"

func newGateway(t *testing.T) *gateway {
	t.Helper()
	g := &gateway{identity: identity{t, t.TempDir()}, port: freePort(t), secret: "s3cret-s3cret"}
	g.root = filepath.Join(g.dir, "root")
	g.must(os.MkdirAll(filepath.Join(g.root, bucketName), 0o755))
	g.certificate(time.Now().Add(time.Hour))
	g.start()
	t.Cleanup(g.kill)
	return g
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// start starts the server and waits until it answers.
func (g *gateway) start() {
	g.Helper()
	log, err := os.OpenFile(filepath.Join(g.dir, "log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	g.must(err)
	defer log.Close()
	g.cmd = exec.Command(server(g.T, "github.com/versity/versitygw", "github.com/versity/versitygw/cmd/versitygw"),
		"--access", "ullage", "--secret", g.secret, "--port", fmt.Sprintf("127.0.0.1:%d", g.port), "--health", "/health",
		"--cert", g.ca(), "--key", filepath.Join(g.dir, "key.pem"), "--quiet", "posix", g.root)
	g.cmd.Stdout, g.cmd.Stderr = log, log
	g.must(g.cmd.Start())
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	lab.Eventually(g, patience, "the S3 server answers", func() bool {
		resp, err := client.Get(fmt.Sprintf("https://127.0.0.1:%d/health", g.port))
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// kill ends the server as kill -9 does.
func (g *gateway) kill() {
	_ = g.cmd.Process.Signal(unix.SIGCONT)
	_ = g.cmd.Process.Kill() // fails only if it has ended
	_ = g.cmd.Wait()
}

func (g *gateway) restart() {
	g.Helper()
	g.kill()
	g.start()
}

// url is the sink's, at the server or at a proxy in front of it.
func (g *gateway) url(endpoint, more string) string {
	if endpoint == "" {
		endpoint = fmt.Sprintf("https://127.0.0.1:%d", g.port)
	}
	return fmt.Sprintf("s3://%s/prod?endpoint=%s&region=us-east-1&path-style=true&ca=%s%s", bucketName, url.QueryEscape(endpoint), url.QueryEscape(g.ca()), more)
}

// collect copies the segments in the bucket to where a destination has them, so that
// they can be compared as those are. It fails if an object is there twice.
func (g *gateway) collect() (dest string) {
	g.Helper()
	dest = filepath.Join(g.T.TempDir(), "collected")
	g.must(os.MkdirAll(dest, 0o755))
	logs := filepath.Join(g.root, bucketName, "prod", "log")
	err := filepath.WalkDir(logs, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		_, rest, ok := strings.Cut(path, "/stream=")
		stream, _, _ := strings.Cut(rest, "/")
		to := filepath.Join(dest, stream, entry.Name())
		if _, err := os.Stat(to); !ok || err == nil {
			g.Errorf("%s is there twice, or in a strange place", path)
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o644)
	})
	g.must(err)
	return dest
}
