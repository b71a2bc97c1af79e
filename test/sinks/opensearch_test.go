package sinks

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// templated puts the index template of the documentation.
func (s *search) templated() *search {
	s.Helper()
	text, err := os.ReadFile("../../docs/sinks.md")
	s.must(err)
	found := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(text)
	if found == nil {
		s.Fatal("docs/sinks.md has no index template")
	}
	_, err = s.ask(http.MethodPut, "/_index_template/"+dataStream, string(found[1]))
	s.must(err)
	return s
}

func TestOpenSearchHasEachLineOnce(t *testing.T) {
	table := sinkTable(t, "OpenSearch: a server that fails")
	faults := append(faultsOfLines(),
		lineFault{"wrong credentials, then right ones", true, func(r *lineRig, p *proxy) {
			path := filepath.Join(r.engine.(*search).dir, "headers")
			writeFile(r.T, path, "Authorization: "+wrongToken, 0o600)
			r.fails("unavailable")
			writeFile(r.T, path, "Authorization: "+rightToken, 0o600)
		}},
		lineFault{"200 from something else", true, func(r *lineRig, p *proxy) {
			p.fault.Store(swallows)
			r.fails("unavailable")
		}},
		lineFault{"the certificate expires and is renewed", true, func(r *lineRig, p *proxy) {
			id := r.engine.(*search).identity
			present := func(until time.Time) {
				id.certificate(until)
				pair := id.pair()
				p.pair.Store(&pair)
				p.CloseClientConnections()
			}
			present(time.Now().Add(-time.Minute))
			r.fails("unavailable")
			present(time.Now().Add(time.Hour))
		}},
		lineFault{"the server's disk is nearly full", false, func(r *lineRig, _ *proxy) {
			s := r.engine.(*search)
			_, err := s.ask(http.MethodPut, "/_cluster/settings", `{"transient":{"cluster.info.update.interval":"10s"}}`)
			r.must(err)
			filler := filepath.Join(s.home, "filler")
			fillBut(r.T, filler, 20<<20) // of 512 MiB: past the flood-stage watermark, 95 %
			r.fails("busy")
			r.must(os.Remove(filler))
		}},
		lineFault{"the index is read-only for a while", false, func(r *lineRig, _ *proxy) {
			s := r.engine.(*search)
			_, err := s.ask(http.MethodPut, "/"+dataStream+"/_settings", `{"index.blocks.write":true}`)
			r.must(err)
			r.fails("busy")
			_, err = s.ask(http.MethodPut, "/"+dataStream+"/_settings", `{"index.blocks.write":null}`)
			r.must(err)
		}},
	)
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			s := newSearch(t).templated()
			r := faulty(t, s, s.identity, f)
			o := r.settles()
			table.Add(f.name, o.lines, o.repeated, o.missing, o.changed, o.disordered, 0)
			if !o.right() || o.repeated > 0 {
				t.Errorf("%v; the sidecar logged:\n%s", o, r.side.Stderr())
			}
		})
	}
}

// fillBut writes a file until so many bytes are free in its file system.
func fillBut(t *testing.T, path string, free int64) {
	t.Helper()
	var fs unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &fs); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, make([]byte, int64(fs.Bavail)*fs.Bsize-free), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A sidecar is killed at any moment: what it sends again is there already.
func TestOpenSearchAfterKills(t *testing.T) {
	s := newSearch(t).templated()
	r := newLineRig(t, s, s.sink(s.address()), 2000)
	r.killedOften(30)
	o := r.settles()
	t.Logf("after 30 kills: %v", o)
	if !o.right() || o.repeated > 0 {
		t.Errorf("%v", o)
	}
}
