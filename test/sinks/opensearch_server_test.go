package sinks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// search is an OpenSearch server. It has no TLS: that is the proxy's.
type search struct {
	identity
	port, transport int
	home            string
	cmd             *exec.Cmd
}

const (
	searchVersion = "2.19.3"
	dataStream    = "logs-jvm"
)

// searchJars returns the directory with the server's classes, which Maven downloads once.
func searchJars(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(cacheDir(t), "servers", "opensearch-"+searchVersion)
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	t.Logf("downloading OpenSearch %s, once", searchVersion)
	from, err := filepath.Abs("../servers/opensearch")
	if err != nil {
		t.Fatal(err)
	}
	next := dir + ".new"
	if err := os.RemoveAll(next); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"mvn", "-q", "-B", "-f", filepath.Join(from, "pom.xml"), "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=" + next},
		{"javac", "-d", next, "-cp", next + "/*", filepath.Join(from, "Server.java")},
	} {
		if _, err := command(10*time.Minute, args[0], args[1:]...); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(next, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func newSearch(t *testing.T) *search {
	t.Helper()
	s := &search{identity: identity{t, t.TempDir()}, port: freePort(t), transport: freePort(t), home: lab.Tmpfs(t, "512m")}
	s.certificate(time.Now().Add(time.Hour))
	for _, dir := range []string{"config", "modules", "plugins"} {
		s.must(os.MkdirAll(filepath.Join(s.home, dir), 0o755))
	}
	s.start()
	t.Cleanup(s.kill)
	return s
}

func (s *search) start() {
	s.Helper()
	jars := searchJars(s.TB)
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	s.must(err)
	defer log.Close()
	s.cmd = exec.Command("java", "-Xms256m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", jars+"/*:"+jars, "Server", s.home, fmt.Sprint(s.port), fmt.Sprint(s.transport))
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.must(s.cmd.Start())
	lab.Eventually(s, 4*patience, "OpenSearch answers", func() bool {
		_, err := s.ask(http.MethodGet, "/_cluster/health?wait_for_status=yellow&timeout=5s", "")
		return err == nil
	})
}

// ask makes a request, and returns the answer to it.
func (s *search) ask(method, path, body string) ([]byte, error) {
	req, err := http.NewRequest(method, s.address()+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %.300s", method, path, resp.Status, text)
	}
	return text, err
}

func (s *search) kill() {
	s.signal(unix.SIGCONT)
	s.signal(unix.SIGKILL)
	_ = s.cmd.Wait()
}

func (s *search) signal(to unix.Signal) { _ = s.cmd.Process.Signal(to) } // fails only if it has ended

func (s *search) address() string { return fmt.Sprintf("http://127.0.0.1:%d", s.port) }

func (s *search) sink(endpoint string) string {
	path := filepath.Join(s.dir, "headers")
	if _, err := os.Stat(path); err != nil {
		writeFile(s.TB, path, "Authorization: "+rightToken, 0o600)
	}
	return fmt.Sprintf("opensearch+%s/%s?name=search&ca=%s&headers=%s", endpoint, dataStream, escaped(s.ca()), escaped(path))
}

// hits are a page of a search.
type hits struct {
	Scroll string `json:"_scroll_id"`
	Hits   struct {
		Hits []struct {
			ID     string `json:"_id"`
			Seq    int    `json:"_seq_no"`
			Source struct {
				Message string `json:"message"`
			} `json:"_source"`
		} `json:"hits"`
	} `json:"hits"`
}

// documents reads all of the data stream, in the order in which it was indexed.
func (s *search) documents(t *testing.T) (all []document) {
	t.Helper()
	_, err := s.ask(http.MethodPost, "/"+dataStream+"/_refresh", "")
	s.must(err)
	var found []hits
	path, body := "/"+dataStream+"/_search?scroll=1m", `{"size":5000,"sort":["_doc"],"seq_no_primary_term":true,"_source":["message"]}`
	for {
		text, err := s.ask(http.MethodPost, path, body)
		s.must(err)
		var page hits
		s.must(json.NewDecoder(bytes.NewReader(text)).Decode(&page))
		if len(page.Hits.Hits) == 0 {
			break
		}
		found = append(found, page)
		path, body = "/_search/scroll", fmt.Sprintf(`{"scroll":"1m","scroll_id":%q}`, page.Scroll)
	}
	seqs := map[string]int{}
	for _, page := range found {
		for _, h := range page.Hits.Hits {
			seqs[h.ID] = h.Seq
			all = append(all, document{uid: h.ID, body: h.Source.Message})
		}
	}
	slices.SortStableFunc(all, func(a, b document) int { return seqs[a.uid] - seqs[b.uid] })
	return all
}
