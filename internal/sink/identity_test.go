package sink

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// newState makes the directory for the files of sinks in a new destination.
func newState(t *testing.T) files {
	t.Helper()
	state := files{t.TempDir()}
	if err := os.MkdirAll(state.path(""), 0o750); err != nil {
		t.Fatal(err)
	}
	return state
}

func TestADestinationKeepsItsName(t *testing.T) {
	state := files{t.TempDir()}
	ids := make([]string, 4)
	var all sync.WaitGroup
	for i := range ids { // the sinks of a process begin at the same time
		all.Go(func() {
			id, err := identity(state)
			if err != nil {
				t.Error(err)
			}
			ids[i] = id
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] || !validIdentity.MatchString(id) {
			t.Fatalf("the names are %q, want the same valid name for all", ids)
		}
	}
	if other, err := identity(files{t.TempDir()}); err != nil || other == ids[0] {
		t.Errorf("another destination has the name %q, want a different one; error %v", other, err)
	}
	left, err := os.ReadDir(state.path(""))
	if err != nil || len(left) != 1 {
		t.Errorf("the directory has %v, error %v; want 1 file and no error", left, err)
	}
}

func TestADestinationsDamagedNameIsReplaced(t *testing.T) {
	for _, damage := range []string{"", "0123", "../../elsewhere/and/much/longer/than/a/name/of/a/destination/is\n"} {
		state := newState(t)
		if err := os.WriteFile(state.path(identityFile), []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		id, err := identity(state)
		if again, _ := identity(state); err != nil || !validIdentity.MatchString(id) || again != id {
			t.Errorf("after %q the name is %q, then %q, error %v; want the same valid name twice and no error", damage, id, again, err)
		}
	}
}

func TestADestinationsNameThatIsALinkIsNotFollowed(t *testing.T) {
	state := newState(t)
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Symlink(elsewhere, state.path(identityFile)); err != nil {
		t.Fatal(err)
	}
	if id, err := identity(state); err == nil {
		t.Errorf("the name is %q, want an error", id)
	}
}

// selfKept is an engine that keeps its own cursor and promises less than it documents.
type selfKept struct {
	engine
	id string
}

func (k *selfKept) Identify(id string) { k.mu.Lock(); k.id = id; k.mu.Unlock() }
func (k *selfKept) Note() string       { return "at least once" }

func TestASinkKnowsItsDestinationAndIsNoted(t *testing.T) {
	r := newRig(t, false)
	r.must(r.end())
	k := &selfKept{}
	r.beginWith(map[string]Kind{"test": {Open: func(Target) (Sink, error) { return k, nil }}})
	r.commits("gc.log", "[1s][info][gc] one")
	r.waits("a line is delivered", func() bool { return len(k.got()) == 1 })
	if want, err := identity(files{r.dest}); err != nil || k.id != want {
		t.Errorf("the sink has the name %q, want the destination's name %q; error %v", k.id, want, err)
	}
	if note := r.set.Status()[0].Note; note != "at least once" {
		t.Errorf(`the note is %q, want "at least once"`, note)
	}
}

func TestASlowLogIsDeliveredWithALinger(t *testing.T) {
	r := newRig(t, false)
	r.must(r.end())
	r.beginWith(map[string]Kind{"test": {Linger: 300 * time.Millisecond, Open: func(Target) (Sink, error) { return r.engine, nil }}})
	for range 20 {
		r.commits("gc.log", "[1s][info][gc] one")
		time.Sleep(20 * time.Millisecond) // the rate of a slow log
	}
	r.gets(20)
	if tries := r.engine.tries; tries > 6 {
		t.Errorf("20 lines in 0.4 s took %d deliveries, want at most 6", tries)
	}
	r.commits("gc.log", "[1s][info][gc] the last one")
	r.must(r.end()) // the last round does not wait for the linger
	r.gets(21)
}
