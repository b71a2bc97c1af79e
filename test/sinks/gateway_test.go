package sinks

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/sink/s3"
	"github.com/ullage/ullage/test/lab"
)

func TestMain(m *testing.M) { lab.Main(m) }

const patience = lab.Patience

// server builds a program of test/servers into the cache, unless it is there.
func server(t testing.TB, module, program string) string {
	t.Helper()
	return built(t, "../servers", module, program)
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
	return newGatewayIn(t, t.TempDir())
}

// newGatewayIn is one whose files are in dir.
func newGatewayIn(t testing.TB, dir string) *gateway {
	t.Helper()
	g := &gateway{identity: identity{t, dir}, port: freePort(t), secret: "s3cret-s3cret"}
	g.root = filepath.Join(g.dir, "root")
	g.must(os.MkdirAll(filepath.Join(g.root, bucketName), 0o755))
	g.certificate(time.Now().Add(time.Hour))
	g.start()
	t.Cleanup(g.kill)
	return g
}

func freePort(t testing.TB) int {
	t.Helper()
	port, err := lab.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// start starts the server and waits until it answers.
func (g *gateway) start() {
	g.Helper()
	log, err := os.OpenFile(filepath.Join(g.dir, "log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	g.must(err)
	defer log.Close()
	g.cmd = exec.Command(server(g.TB, "github.com/versity/versitygw", "github.com/versity/versitygw/cmd/versitygw"),
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
	dest = filepath.Join(g.TempDir(), "collected")
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

// indexed returns the segments that the indexes name, with the lines in each, and the sum.
func (g *gateway) indexed() (named map[string]uint64, lines uint64) {
	g.Helper()
	named = map[string]uint64{}
	paths, err := filepath.Glob(filepath.Join(g.root, bucketName, "prod", "index", "*", "*", "*", "*", "*.json"))
	g.must(err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		g.must(err)
		var index s3.Index
		g.must(json.Unmarshal(text, &index))
		for _, e := range index.Segments {
			named[e.Key] = 0
			for _, n := range e.Lines {
				named[e.Key] += n
			}
		}
	}
	for _, n := range named {
		lines += n
	}
	return named, lines
}

// objects returns the keys of the segments that are there.
func (g *gateway) objects() map[string]bool {
	g.Helper()
	have := map[string]bool{}
	bucket := filepath.Join(g.root, bucketName)
	g.must(filepath.WalkDir(filepath.Join(bucket, "prod", "log"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			key, _ := filepath.Rel(bucket, path)
			have[key] = true
		}
		return err
	}))
	return have
}
