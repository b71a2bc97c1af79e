package ring

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/ul"
)

// A thread of the JVM logs one event after another. Between any two of its steps, other
// threads or the drain can act.
type thread struct {
	id, seq int
	state   int
	tail    uint64 // the tail that the thread has read
	pos     uint64
	level   ul.Level
	payload string
}

// A model is a JVM with several threads, and the drain of its ring. It is random which of
// them takes the next step, and where the drain fails or is killed.
type model struct {
	*writer
	rand    *rand.Rand
	threads []*thread
	kept    map[uint64]string // complete events, by position
	s       *sidecar
	errors  []string
	kills   bool // the drain may be killed
	fails   bool // calls of the drain may fail
	quiet   bool // only the drain is running, without failures
}

var errKilled = errors.New("killed")

// step takes one step of a thread.
func (m *model) step(th *thread) {
	switch th.state {
	case 0:
		th.seq++
		th.level = []ul.Level{ul.Info, ul.Info, ul.Debug, ul.Warning, ul.Error}[m.rand.IntN(5)]
		th.payload = fmt.Sprintf("%d/%d %s", th.id, th.seq, strings.Repeat("x", m.payload()))
		th.state++
		fallthrough
	case 1:
		th.tail = m.tail()
		th.state++
	case 2:
		if m.tail() != th.tail {
			th.state = 1 // another thread has claimed first
			return
		}
		pos, ok := m.claim(len(th.payload), th.level)
		if th.pos = pos; ok {
			th.state++
		} else {
			th.state = 0
		}
	case 3:
		m.announce(th.pos, len(th.payload))
		th.state++
	case 4:
		m.fill(th.pos, uint32(th.id), uint32(th.id), testMono, []byte(th.payload))
		th.state++
	case 5:
		m.word(th.pos, len(th.payload), th.level, kindText, 0)
		m.kept[th.pos] = fmt.Sprintf("%d %s", th.id, th.payload)
		th.state = 0
	}
}

func (m *model) payload() int {
	if m.rand.IntN(200) == 0 {
		return m.rand.IntN(30_000)
	}
	return m.rand.IntN(200)
}

// before is called before each call of the drain.
func (m *model) before(s step, fd int, data []byte, offset int64) error {
	if m.quiet {
		return nil
	}
	for range m.rand.IntN(12) {
		m.step(m.threads[m.rand.IntN(len(m.threads))])
	}
	if m.kills && m.rand.IntN(60) == 0 {
		m.part(s, fd, data, offset)
		panic(errKilled)
	}
	if m.fails && s != stepRead && m.rand.IntN(40) == 0 {
		m.part(s, fd, data, offset)
		return unix.ENOSPC
	}
	return nil
}

// part does a random part of a call that writes.
func (m *model) part(s step, fd int, data []byte, offset int64) {
	if s != stepRead && s != stepUnlink {
		_, _ = unix.Pwrite(fd, data[:m.rand.IntN(len(data)+1)], offset)
	}
}

// run runs several rounds of the drain and restarts it after each kill.
func (m *model) run(rounds int) {
	for range rounds {
		func() {
			defer func() {
				if v := recover(); v != nil && v != errKilled {
					panic(v)
				} else if v != nil {
					m.restart()
				}
			}()
			m.s.now = m.s.now.Add(errorPause)
			m.s.round(m.s.now, m.rand.IntN(8) == 0)
		}()
	}
}

// restart starts the next sidecar.
func (m *model) restart() {
	old := m.s
	if old != nil {
		old.leave()
		m.errors = append(m.errors, old.errorsBy())
	}
	m.s = newSidecar(m.t, m.source())
	m.s.calls.before = m.before
	if old != nil {
		m.s.now = old.now
	}
	quiet := m.quiet
	m.quiet = true
	m.s.start()
	m.quiet = quiet
}

// enter makes the journal of an earlier process that has read up to the ring's head.
func (m *model) enter() {
	s := newSidecar(m.t, m.source()).start()
	d := s.drains[testName]
	e := d.next()
	if err := d.enter(&e, nil); err != nil {
		m.t.Fatal(err)
	}
	s.leave()
}

func (m *model) source() string { return m.path[:strings.LastIndexByte(m.path, '/')] }

// settle kills the JVM in the middle of its threads' steps, drains the ring, and compares
// the result.
func (m *model) settle(t *testing.T, n name) {
	t.Helper()
	dropped := counts{}
	for r := range dropped.lines {
		for l := range dropped.lines[r] {
			dropped.lines[r][l] = le.Uint64(m.mem[controlAt+dropsAt+8*(r*ul.NumLevels+l):])
		}
	}
	dropped.bytes = le.Uint64(m.mem[controlAt+droppedBytesAt:])
	m.quiet = true
	m.kill()
	m.s.drained()
	for _, by := range append(m.errors, m.s.errorsBy()) {
		for _, reason := range strings.Fields(by) {
			if name, _, _ := strings.Cut(reason, "="); name != reasonClaim && name != reasonRoom && (name != reasonOther || !m.fails) {
				t.Errorf("the errors are %s, want only %s and %s; %s is also allowed: %t", by, reasonClaim, reasonRoom, reasonOther, m.fails)
			}
		}
	}
	var want []string
	positions := make([]uint64, 0, len(m.kept))
	for pos := range m.kept {
		positions = append(positions, pos)
	}
	slices.Sort(positions)
	for _, pos := range positions {
		want = append(want, m.kept[pos])
	}
	got, lines := events(t, m.source(), n)
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("(-want +got)\n%.3000s", d)
	}
	var told counts
	for _, line := range lines {
		if g, ok := ul.ParseMarker([]byte(line)); ok {
			for r := range g.Lines {
				for l, n := range g.Lines[r] {
					told.lines[r][l] += n
				}
			}
			told.bytes += g.Bytes
		}
	}
	if told != dropped {
		t.Fatalf("the markers count %v, want %v, which the ring has refused", told, dropped)
	}
}

func TestEveryInterleavingOfThreadsDrainAndKills(t *testing.T) {
	seeds := 60
	if testing.Short() {
		seeds = 20
	}
	var events, refused int
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 17))
			m := &model{writer: newWriter(t, t.TempDir(), testName, minCapacity), rand: r, kept: map[uint64]string{},
				kills: seed%3 > 0, fails: seed%2 > 0}
			m.begin(uint64(r.IntN(minCapacity)) &^ 7)
			m.enter()
			for id := range 1 + r.IntN(8) {
				m.threads = append(m.threads, &thread{id: id + 1})
			}
			m.restart()
			for range 20 {
				m.run(20)
				for range r.IntN([]int{600, 8000}[seed/2%2]) { // while the drain is not running
					m.step(m.threads[r.IntN(len(m.threads))])
				}
			}
			for _, th := range m.threads {
				refused += th.seq
			}
			events += len(m.kept)
			m.settle(t, testName)
		})
	}
	t.Logf("of %d events, %d were refused or not completed", events, refused-events)
}
