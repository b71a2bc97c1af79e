package sinks

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/sink/s3"
	"github.com/ullage/ullage/test/lab"
)

// gateway is an S3 server over TLS, whose buckets are directories.
type gateway struct {
	identity
	*lab.Engine
	root   string
	port   int
	secret string
}

const bucketName = "logs"

func newGateway(t *testing.T) *gateway {
	t.Helper()
	return newGatewayIn(t, t.TempDir())
}

// newGatewayIn returns a gateway whose files are in dir.
func newGatewayIn(t testing.TB, dir string) *gateway {
	t.Helper()
	g := &gateway{identity: identity{t, dir}, port: freePort(t), secret: "s3cret-s3cret"}
	g.root = filepath.Join(g.dir, "root")
	g.must(os.MkdirAll(filepath.Join(g.root, bucketName), 0o755))
	g.certificate(time.Now().Add(time.Hour))
	g.start()
	t.Cleanup(func() { g.Kill() })
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
	command, err := lab.S3Server(g.Logf, g.address(), "ullage", g.secret, g.root, g.files())
	g.must(err)
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	g.Engine = &lab.Engine{Command: command, Answers: func() bool {
		resp, err := client.Get("https://" + g.address() + "/health")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}}
	g.must(g.Start())
}

func (g *gateway) bucket() string { return filepath.Join(g.root, bucketName) }

func (g *gateway) address() string { return fmt.Sprintf("127.0.0.1:%d", g.port) }

// url returns the sink's URL. If endpoint is empty, the sink sends to the server itself, otherwise
// to that proxy.
func (g *gateway) url(endpoint, more string) string {
	if endpoint == "" {
		endpoint = "https://" + g.address()
	}
	return fmt.Sprintf("s3://%s/prod?endpoint=%s&region=us-east-1&path-style=true&ca=%s%s", bucketName, url.QueryEscape(endpoint), url.QueryEscape(g.ca()), more)
}

// collect copies the segments in the bucket into a directory with the layout of a destination, so that they can be
// compared like a destination. It fails the test if a segment is in the bucket twice.
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
			g.Errorf("%s is in the bucket twice, or has an unexpected path", path)
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

// indexed returns the segments that the indexes name, with the number of lines in each, and the total number
// of lines.
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

// objects returns the keys of the segments in the bucket.
func (g *gateway) objects() map[string]bool {
	g.Helper()
	have := map[string]bool{}
	bucket := g.bucket()
	g.must(filepath.WalkDir(filepath.Join(bucket, "prod", "log"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			key, _ := filepath.Rel(bucket, path)
			have[key] = true
		}
		return err
	}))
	return have
}
