package sinks

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
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
