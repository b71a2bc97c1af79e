package sink

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// If the disk fails briefly at the start, the sink does not get everything twice: the worker
// keeps trying to read the cursor and delivers nothing until it succeeds.
func TestACursorThatCannotBeReadForAWhile(t *testing.T) {
	r := newRig(t, false)
	r.commits("gc.log", "[1s][info][gc] one")
	r.gets(1)
	r.must(r.end())
	path := (files{r.dest}).path("test.json")
	r.must(os.Rename(path, path+".away"))
	r.must(os.Mkdir(path, 0o755)) // read(2) of it fails

	r.begin()
	r.commits("gc.log", "[2s][info][gc] two")
	r.waits("the sink fails", func() bool { return r.set.Status()[0].Failure != "" })
	if r.has(r.list("gc.log")[0]) {
		t.Error("retention may delete a segment that the sink may lack, want it kept")
	}
	r.must(os.Remove(path))
	r.must(os.Rename(path+".away", path))
	r.expects("gc.log 0 info [1s][info][gc] one", "gc.log 19 info [2s][info][gc] two")
	r.must(r.end())
	if got := r.set.Status()[0]; got.Failure != "" || len(r.gets(2)) != 2 {
		t.Errorf(`the state is %+v, the engine has %q; want no failure and 2 lines`, got, r.gets(2))
	}
}

// The files of a sink that no longer exists, such as the OpenSearch sink, are kept unchanged and
// do not stop retention.
func TestTheFilesOfASinkThatIsGone(t *testing.T) {
	r := newRig(t, false)
	r.must(r.end())
	old := map[string]string{
		"opensearch+https.json":           `{"sink":"opensearch+https","streams":{"gc.log":{"segment":"20261122T100000.000Z-000001.log","offset":0,"raw":0,"skip":19}}}`,
		"opensearch+https.rejected.jsonl": `{"stream":"gc.log","segment":"20261122T100000.000Z-000001.log","offset":0}` + "\n",
	}
	for name, text := range old {
		r.must(os.MkdirAll(filepath.Dir((files{r.dest}).path(name)), 0o750))
		r.must(os.WriteFile((files{r.dest}).path(name), []byte(text), 0o640))
	}
	r.begin()
	r.commits("gc.log", "[1s][info][gc] one")
	r.expects("gc.log 0 info [1s][info][gc] one")
	r.waits("retention may delete the segment", func() bool { return r.has(r.list("gc.log")[0]) })
	r.must(r.end())
	for name, text := range old {
		if got, err := os.ReadFile((files{r.dest}).path(name)); err != nil || string(got) != text {
			t.Errorf("%s holds %q, error %v, want %q", name, got, err, text)
		}
	}
}

// The content of a cursor file is not trusted: if it is invalid, the sink begins again and counts
// the lost cursor.
func TestAMalformedCursorBeginsAgain(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "half of it": `{"sink":"test://there","stre`, "no streams": `{}`,
		"another stream's name": `{"streams":{"../up":{"segment":""}}}`,
		"no segment's name":     `{"streams":{"gc.log":{"segment":"x"}}}`,
		"before the first byte": `{"streams":{"gc.log":{"segment":"20261122T100000.000Z-000001.log","offset":-1}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, false)
			r.commits("gc.log", "[1s][info][gc] one")
			first := r.gets(1)
			r.must(r.end())
			r.must(os.WriteFile((files{r.dest}).path("test.json"), []byte(text), 0o640))

			r.begin()
			r.set.Committed(nil, []string{"gc.log"})
			if got := r.gets(2); !slices.Equal(got, []string{first[0], first[0]}) {
				t.Errorf("the engine has %q, want %q twice", got, first[0])
			}
			if n := testutil.ToFloat64(r.set.workers[0].metrics.cursorsLost); n != 1 {
				t.Errorf("%v cursors are counted as lost, want 1", n)
			}
		})
	}
}
