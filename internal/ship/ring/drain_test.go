package ring

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/test/lab"
)

// mapped makes a ring and a sidecar that reads it.
func mapped(t *testing.T) (*writer, *sidecar) {
	t.Helper()
	source := t.TempDir()
	w := newWriter(t, source, testName, minCapacity)
	return w, newSidecar(t, source).start()
}

func wantMessages(t *testing.T, s *sidecar, want ...string) {
	t.Helper()
	got, _ := events(t, s.source, testName)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("messages (-want +got)\n%.3000s", d)
	}
}

func wantErrors(t *testing.T, s *sidecar, want string) {
	t.Helper()
	if got := s.errorsBy(); got != want {
		t.Errorf("errors %q, want %q\n%s", got, want, s.log)
	}
}

func TestAnUnusedRingCostsNoFileAndIsRemovedWithItsJVM(t *testing.T) {
	w, s := mapped(t)
	s.rounds(3)
	if got := names(t, s.source); got != testName.ring() {
		t.Errorf("the source has %s, want only the ring", got)
	}
	w.kill()
	s.drained()
	if got := names(t, s.source); got != "" {
		t.Errorf("files are left in the source: %s, want nothing", got)
	}
	wantErrors(t, s, "")
}

func TestRecordsGoAroundTheEndAtEveryAlignment(t *testing.T) {
	w, s := mapped(t)
	var want []string
	for i := 0; len(want) < 6000; i++ { // at each wrap, the ring ends inside a different part of a record
		text := strings.Repeat("x", i%257)
		if !w.event(i, text) {
			t.Fatal("the ring refused an event")
		}
		want = append(want, strings.TrimSuffix(fmt.Sprintf("%d %s", i, text), " "))
		if i%50 == 0 {
			s.rounds(1)
		}
	}
	w.kill()
	s.drained()
	wantMessages(t, s, want...)
	wantErrors(t, s, "")
}

func TestTheRingIsZeroedBeforeItIsGivenBack(t *testing.T) {
	w, s := mapped(t)
	w.event(1, "one")
	w.event(2, strings.Repeat("two ", 1000))
	s.rounds(2)
	if w.head() != w.tail() {
		t.Fatalf("the head is %d and the tail %d, want an empty ring", w.head(), w.tail())
	}
	if data := w.mem[dataAt:]; !bytes.Equal(data, make([]byte, len(data))) {
		t.Error("the ring is not zeroed")
	}
}

// A thread may stop in the middle of an event for any length of time.
func TestReadingWaitsAtAClaimAndOthersGoOn(t *testing.T) {
	w, s := mapped(t)
	w.event(1, "before")
	pos, _ := w.claim(8, ul.Info)
	w.announce(pos, 8)
	w.event(2, "behind")
	s.now = s.now.Add(time.Hour)
	s.rounds(500)
	wantMessages(t, s, "1 before")
	w.fill(pos, 3, 99, testMono, []byte("at last!"))
	w.word(pos, 8, ul.Info, kindText, 0)
	s.rounds(2)
	wantMessages(t, s, "1 before", "3 at last!", "2 behind")
	wantErrors(t, s, "")
}

func TestClaimsOfADeadJVMArePassedOver(t *testing.T) {
	for name, leave := range map[string]func(w *writer, pos uint64){
		"without a word": func(*writer, uint64) {},
		"with its word":  func(w *writer, pos uint64) { w.announce(pos, 1000) },
		"half filled": func(w *writer, pos uint64) {
			w.announce(pos, 1000)
			w.fill(pos, 1, 1, testMono, bytes.Repeat([]byte{0xff}, 700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, s := mapped(t)
			w.event(1, "before")
			pos, _ := w.claim(1000, ul.Info)
			leave(w, pos)
			w.event(2, "between")
			pos, _ = w.claim(1000, ul.Info)
			leave(w, pos)
			s.rounds(2)
			wantMessages(t, s, "1 before")
			w.kill()
			s.drained()
			wantMessages(t, s, "1 before", "2 between")
			wantErrors(t, s, "claim=2")
		})
	}
}

// The next event completes the claim of a thread that has no stack left. It writes two pads: one up
// to the end of the ring, and one after that, over whatever the thread left there.
func TestTheClaimOfAThreadWithoutAStackIsPassedOver(t *testing.T) {
	w, s := mapped(t)
	for w.tail() < w.cap-20_000 {
		w.event(1, strings.Repeat("x", 1000))
		s.rounds(1)
	}
	at, rest := w.tail(), int(w.cap-w.tail())
	pos, ok := w.claim(30_000, ul.Warning)
	if !ok || pos != w.cap {
		t.Fatalf("the writer claimed position %d, %v; want %d, true", pos, ok, w.cap)
	}
	clear(w.mem[w.at(at) : w.at(at)+8]) // the thread had no stack left for the pad
	w.fill(pos, 1, 1, testMono, bytes.Repeat([]byte{0xff}, 30_000))
	s.rounds(3)
	w.word(pos, recordSize(30_000), 0, kindPad, 0)
	w.word(at, rest, 0, kindPad, 0)
	w.write(ul.Warning, kindText, 2, []byte("behind"))
	s.rounds(3)
	if data := w.mem[dataAt:]; !bytes.Equal(data, make([]byte, len(data))) {
		t.Error("the ring is not zeroed")
	}
	if got, _ := events(t, s.source, testName); got[len(got)-1] != "2 behind" {
		t.Errorf(`the last message is %.80q, want "2 behind"`, got[len(got)-1])
	}
	wantErrors(t, s, "")
}

func TestDropsBecomeOneMarkerAtTheirPlace(t *testing.T) {
	w, s := mapped(t)
	kept, infos, errors := 0, 0, 0
	for ; w.event(kept, strings.Repeat("x", 1000)); kept++ {
	}
	infos++
	for w.write(ul.Error, kindText, 7, make([]byte, 1000)) {
	}
	errors++
	for range 9 {
		w.event(0, "refused")
		infos++
	}
	s.rounds(1)
	w.event(8, "room again")
	s.rounds(5)
	_, lines := events(t, s.source, testName)
	at := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "gap: ") })
	if at < 0 || at != len(lines)-2 || !strings.HasSuffix(lines[at+1], "8 room again") {
		t.Fatalf(`the marker is line %d of %d, want the last but one, before "8 room again"`, at, len(lines))
	}
	g, ok := ul.ParseMarker([]byte(lines[at]))
	if !ok || g.Lines[ul.Discard][ul.Info] != uint64(infos) || g.Lines[ul.DropAll][ul.Error] != uint64(errors) || g.Total() != uint64(infos+errors) {
		t.Errorf("the marker is %s, want %d lines at info and %d at error", lines[at], infos, errors)
	}
	wantErrors(t, s, "")
}

// A ring is abandoned if it is full for ten seconds with a claim at its head. The late thread
// does no harm, and its events are not lost.
func TestAStuckRingIsAbandoned(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart ", restart), func(t *testing.T) {
			w, s := mapped(t)
			pos, _ := w.claim(4, ul.Info)
			w.announce(pos, 4)
			late, _ := w.claim(100, ul.Info) // the word of this claim is not written yet
			want := []string{}
			for i := 0; w.event(i, strings.Repeat("x", 1000)); i++ {
				want = append(want, fmt.Sprint(i, " ", strings.Repeat("x", 1000)))
			}
			head := w.head()
			s.rounds(50)
			wantMessages(t, s)
			if le.Uint32(w.mem[abandonedAt:]) != 0 {
				t.Error("the ring was abandoned after five seconds, which is too early")
			}
			s.rounds(60)
			if le.Uint32(w.mem[abandonedAt:]) != 1 || w.head() != head {
				t.Errorf("abandoned is %d, and the head is %d; want 1 and %d", le.Uint32(w.mem[abandonedAt:]), w.head(), head)
			}
			wantMessages(t, s, want...)
			if restart {
				s.leave()
				again := newSidecar(t, s.source)
				again.now = s.now
				s = again.start()
			}
			w.write(ul.Error, kindText, 7, []byte("into the rest of the ring"))
			want = append(want, "7 into the rest of the ring")
			w.fill(pos, 3, 99, testMono, []byte("late"))
			w.word(pos, 4, ul.Info, kindText, 0)
			s.rounds(2)
			w.announce(late, 100)
			w.kill()
			s.drained()
			wantMessages(t, s, append(want, "3 late")...)
		})
	}
}

// If the application removes or truncates the text of a ring, later events are still written.
func TestATextThatSomebodyRemovedIsBegunAgain(t *testing.T) {
	w, s := mapped(t)
	w.event(1, "one")
	s.rounds(2)
	if err := os.Remove(filepath.Join(s.source, testName.text())); err != nil {
		t.Fatal(err)
	}
	s.now = s.now.Add(time.Second)
	s.rounds(1)
	w.event(2, "two")
	s.rounds(2)
	wantMessages(t, s, "2 two")
	if err := os.Truncate(filepath.Join(s.source, testName.text()), 3); err != nil {
		t.Fatal(err)
	}
	w.event(3, "three")
	s.rounds(2)
	if got, _ := events(t, s.source, testName); got[len(got)-1] != "3 three" {
		t.Errorf(`the messages are %q, want "3 three"`, got)
	}
}

func TestAFullTmpfsDelaysLinesAndLosesNone(t *testing.T) {
	w, s := mapped(t)
	full := true
	s.calls.before = func(st step, fd int, data []byte, offset int64) error {
		if !full || st != stepAppend {
			return nil
		}
		_, _ = unix.Pwrite(fd, data[:len(data)/3], offset)
		return unix.ENOSPC
	}
	var want []string
	for i := range 100 {
		w.event(i, "text")
		want = append(want, fmt.Sprint(i, " text"))
		s.rounds(1)
	}
	full = false
	s.rounds(5)
	wantMessages(t, s, want...)
	wantErrors(t, s, "room=1")
	if !strings.Contains(s.log.String(), "reason=room") {
		t.Errorf("the log does not give the reason, want reason=room in it: %s", s.log)
	}
}

// All rings of a source share its budget, however many there are. Each ring still accepts warnings.
func TestTheTextsOfAllRingsShareTheBudget(t *testing.T) {
	const budget, length = 1 << 20, 1000
	source := tmpfs(t)
	names := []name{testName, "events-8-1763722140123", "events-9-1763722140123"}
	var writers []*writer
	for _, n := range names {
		writers = append(writers, newWriter(t, source, n, 256<<10))
	}
	s := newSidecar(t, source).start()
	s.SetRoom(budget, 0)
	text := []byte(strings.Repeat("x", length))
	for range budget / length {
		for _, w := range writers {
			w.write(ul.Info, kindText, 1, text)
		}
		s.rounds(1)
	}
	for i, w := range writers {
		for range 50 {
			if !w.write(ul.Warning, kindText, 2, text) {
				t.Fatalf("%s refused a warning, although part of the ring is reserved for events at or above the keep level", names[i])
			}
		}
	}
	s.rounds(1)
	var sum int64
	for _, n := range names {
		info, err := os.Stat(filepath.Join(source, n.text()))
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() < budget/8 {
			t.Errorf("%s has %d bytes, want at least %d of the budget of %d", n.text(), info.Size(), budget/8, budget)
		}
		sum += info.Size()
	}
	if sum > budget {
		t.Errorf("the texts have %d bytes, want at most the budget of %d", sum, budget)
	}
}

// If tail does not free a text, the drain stops appending to the text before it fills the source. Then the ring refuses
// events below the keep level and keeps the others.
func TestATextLeavesRoomForOthers(t *testing.T) {
	for name, spool := range map[string]int64{"nothing else is there": 0, "the spool takes more than half": 600 << 10} {
		t.Run(name, func(t *testing.T) { leavesRoom(t, spool) })
	}
}

func leavesRoom(t *testing.T, spool int64) {
	const budget, length = 1 << 20, 1000
	source := tmpfs(t)
	w := newWriter(t, source, testName, 256<<10)
	s := newSidecar(t, source).start()
	s.SetRoom(budget, spool)
	text := []byte(strings.Repeat("x", length))
	accepted := 0
	for accepted < 2*budget/length && w.write(ul.Info, kindText, 1, text) {
		accepted++
		s.rounds(1)
	}
	file, err := os.OpenFile(filepath.Join(source, testName.text()), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if size, most := info.Size(), budget-budget/roomPart-spool+4*length; size > most || size < most/2 {
		t.Errorf("the text has %d bytes, want %d to %d", size, most/2, most)
	}
	for range 50 {
		if !w.write(ul.Warning, kindText, 2, text) {
			t.Fatal("a warning was refused, although part of the ring is reserved for events at or above the keep level")
		}
		accepted++
		s.rounds(1)
	}
	wantErrors(t, s, "room=1")
	if err := unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, info.Size()&^4095); err != nil {
		t.Fatal(err)
	}
	w.kill()
	s.drained()
	if sum := admin.SamplesOf(s.metrics.events).Sum(); int(sum) != accepted {
		t.Errorf("%v events became lines, want the %d that were accepted", sum, accepted)
	}
}

// If the journal of a ring is lost, reading begins at the head of the ring. At most one step is read twice.
func TestWithoutAJournalReadingGoesOnAtTheHead(t *testing.T) {
	for name, lose := range map[string]func(path string) error{
		"removed":   os.Remove,
		"cut":       func(path string) error { return os.Truncate(path, 100) },
		"forged":    func(path string) error { return os.WriteFile(path, make([]byte, journalBytes), 0o600) },
		"replaced":  func(path string) error { _ = os.Remove(path); return os.Symlink("/etc/passwd", path) },
		"directory": func(path string) error { _ = os.Remove(path); return os.MkdirAll(path+"/full", 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			w, s := mapped(t)
			w.event(1, "one")
			s.rounds(2)
			s.leave()
			if err := lose(filepath.Join(s.source, statedir.Name, testName.journal())); err != nil {
				t.Fatal(err)
			}
			w.event(2, "two")
			again := newSidecar(t, s.source).start()
			again.rounds(2)
			w.event(3, "three")
			w.kill()
			again.drained()
			wantMessages(t, again, "1 one", "2 two", "3 three")
			wantErrors(t, again, "journal=1")
		})
	}
}

func TestAJournalWithoutItsRingIsRemoved(t *testing.T) {
	w, s := mapped(t)
	w.event(1, "one")
	s.rounds(2)
	s.leave()
	if err := os.Remove(filepath.Join(s.source, testName.ring())); err != nil {
		t.Fatal(err)
	}
	again := newSidecar(t, s.source).start()
	again.rounds(1)
	if got := names(t, s.source); got != testName.text() {
		t.Errorf("the source has the files %s, want only %s", got, testName.text())
	}
	wantMessages(t, again, "1 one")
}

// Each JVM of a pod may have its own ring. The rings of dead JVMs wait for their turn.
func TestLeftoversOfAHundredJVMs(t *testing.T) {
	source := t.TempDir()
	var all []name
	for i := range 100 {
		n := name(fmt.Sprintf("events-%d-17637221%05d", 1+i%3, i))
		w := newWriter(t, source, n, minCapacity)
		w.event(i, "one of many")
		w.kill()
		all = append(all, n)
	}
	s := newSidecar(t, source).start()
	if len(s.Status()) != maxRings {
		t.Errorf("%d rings are read at a time, want maxRings", len(s.Status()))
	}
	s.drained()
	for i, n := range all {
		if got, _ := events(t, source, n); len(got) != 1 || got[0] != fmt.Sprint(i, " one of many") {
			t.Fatalf(`the messages of %s are %q, want only "%d one of many"`, n, got, i)
		}
	}
	if left := names(t, source); strings.Contains(left, ".ring") || strings.Contains(left, ".journal") {
		t.Errorf(`files are left in the source: %s, want no ".ring" and no ".journal" among them`, left)
	}
	if by := s.errorsBy(); !strings.HasPrefix(by, "too_many=") {
		t.Errorf(`the errors are %s, want "too_many=" at its start`, by)
	}
}

// A JVM that is killed while it creates its ring leaves an unfinished one.
func TestWhatAKilledStartHasLeftIsRemoved(t *testing.T) {
	source := t.TempDir()
	path := filepath.Join(source, "."+testName.ring()+unfinished)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := newSidecar(t, source)
	s.now = time.Now()
	s.start()
	s.rounds(1)
	if _, err := os.Stat(path); err != nil {
		t.Error("the unfinished ring was removed at once, want it kept at first")
	}
	s.now = s.now.Add(time.Minute)
	s.rounds(1)
	if _, err := os.Stat(path); err != nil {
		t.Error("the unfinished ring was removed although it has a writer, want it kept")
	}
	f.Close()
	s.rounds(1)
	if _, err := os.Stat(path); err == nil {
		t.Error("the unfinished ring is still there without a writer, want it removed")
	}
}

// Package tail recognizes texts by their names.
func TestTailFollowsEveryText(t *testing.T) {
	for n, want := range map[name]string{testName: "events-7.log", "events-1-1763722140123-8": "events-1.log"} {
		if got, ok := parseName(n.ring(), ringSuffix); !ok || got != n {
			t.Errorf("%s has the name %q, want %q", n.ring(), got, n)
		}
		if stream := naming.StreamOf(n.text()); stream != want {
			t.Errorf("%s is of stream %s, want %s", n.text(), stream, want)
		}
	}
}

// A line after a shortened record, at the level of the record, shows how much is missing, and the record is counted.
// No text in a record can look like such a line.
func TestARecordThatWasTooLongSaysSo(t *testing.T) {
	w, s := mapped(t)
	text := []byte("[main] com.example.Db failedjava.lang.Exception: a\n... 12345 bytes left out ...\n" +
		string(ul.AppendShortened(nil, time.Unix(0, testWall), ul.Error)))
	for _, flags := range []uint8{0, flagCut} {
		pos, _ := w.claim(len(text), ul.Error)
		w.announce(pos, len(text))
		w.fill(pos, 28, 99, testMono, text)
		w.word(pos, len(text), ul.Error, kindLine, flags)
	}
	w.event(1, "behind")
	s.rounds(2)
	_, lines := events(t, s.source, testName)
	var found []int
	for i, line := range lines {
		if ul.IsShortened([]byte(line)) {
			found = append(found, i)
		}
	}
	if len(found) != 1 || found[0] != len(lines)-2 || !strings.HasPrefix(lines[found[0]], "[2025-11-21T10:49:00.000+0000][error][ullage] cut: ") {
		t.Errorf("lines %v show that a part is missing, want only the last but one, an error of ullage\n%s", found, strings.Join(lines, "\n"))
	}
	if n := testutil.ToFloat64(s.metrics.cut.WithLabelValues("error")); n != 1 {
		t.Errorf("%v shortened records were counted, want 1", n)
	}
	wantErrors(t, s, "")
}

// A mark reports how many records are cut: the first at once, later ones at most once a minute, and the rest when the
// ring ends.
func TestAMarkReportsCutRecords(t *testing.T) {
	w, s := mapped(t)
	var marks []mark.Mark
	s.metrics.cuts.mark = func(m mark.Mark) { marks = append(marks, m) }
	cut := func(n int) {
		t.Helper()
		for range n {
			pos, ok := w.claim(10, ul.Error)
			if !ok {
				t.Fatal("the ring has no room for a record")
			}
			w.announce(pos, 10)
			w.fill(pos, 10, 99, testMono, []byte("0123456789"))
			w.word(pos, 10, ul.Error, kindLine, flagCut)
		}
	}
	wantCounts := func(when string, want ...string) {
		t.Helper()
		var got []string
		for _, m := range marks {
			if m.Kind != mark.RecordsCut || m.Level != ul.Warning || m.Get("stream") != "events-7.log" {
				t.Errorf("%s: got the mark %+v, want %v at level %v of the stream events-7.log", when, m, mark.RecordsCut, ul.Warning)
			}
			got = append(got, m.Get("count"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the marks have the counts %q, want %q", when, got, want)
		}
	}
	cut(1)
	s.rounds(2)
	wantCounts("at once", "1")
	cut(2)
	s.rounds(1)
	cut(3)
	s.rounds(100)
	wantCounts("within a minute", "1")
	s.now = s.now.Add(markPause)
	s.rounds(1)
	wantCounts("after a minute", "1", "5")
	cut(4)
	w.kill()
	s.drained()
	wantCounts("when the ring ends", "1", "5", "4")
}

// When a class loader ends, it returns its ring. The ring is read to its end and removed, although the JVM
// is still running and keeps the ring mapped until a garbage collection.
func TestARingThatWasGivenBackIsRemovedWhileItsJVMLives(t *testing.T) {
	w, s := mapped(t)
	w.event(1, "before")
	pos, _ := w.claim(4, ul.Info)
	w.announce(pos, 4)
	at := w.mem[controlAt:]
	le.PutUint64(at, le.Uint64(at)|closedBit)
	s.rounds(20)
	wantMessages(t, s, "1 before")
	if got := names(t, s.source); !strings.Contains(got, testName.ring()) {
		t.Errorf("a thread is in the middle of an event, but the source has %s, want %s in it", got, testName.ring())
	}
	w.fill(pos, 3, 99, testMono, []byte("last"))
	w.word(pos, 4, ul.Info, kindText, 0)
	s.rounds(5)
	wantMessages(t, s, "1 before", "3 last")
	if got := names(t, s.source); got != testName.text() {
		t.Errorf("the source has the files %s, want only %s", got, testName.text())
	}
	wantErrors(t, s, "")
}

// Only the owner of a file may ask whether it has a writer. A sidecar that does not run as the JVM's user reads the
// ring, and reports that it cannot remove the ring.
func TestALeaseThatIsRefusedHasAReason(t *testing.T) {
	lab.NeedsRoot(t, "it gives a file to another user")
	w, s := mapped(t)
	if err := os.Chown(w.path, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	w.event(1, "one")
	refused := make(chan error)
	go func() { // in a separate thread, which ends with the goroutine
		runtime.LockOSThread()
		var caps [2]unix.CapUserData
		head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		err := unix.Capget(&head, &caps[0])
		caps[0].Effective &^= 1 << unix.CAP_LEASE
		if err == nil {
			err = unix.Capset(&head, &caps[0])
		}
		if err == nil {
			s.rounds(5)
		}
		refused <- err
	}()
	if err := <-refused; err != nil {
		t.Fatal(err)
	}
	wantMessages(t, s, "1 one")
	wantErrors(t, s, "lease=1")
	if st := s.Status(); len(st) != 1 || !strings.Contains(st[0].Problem, "lease") || st[0].Ended {
		t.Errorf(`the status is %+v, want one ring, with "lease" in its Problem and Ended false`, st)
	}
	if n := strings.Count(s.log.String(), "reason=lease"); n != 1 {
		t.Errorf("the log has the reason %d times, want 1:\n%s", n, s.log)
	}
	w.kill()
	s.drained() // as the original user again
	wantErrors(t, s, "lease=1")
}

// An event in the application's own layout is written unchanged, as if to a file, except that it ends with exactly one
// newline.
func TestLinesOfAnApplicationsOwnLayoutStayAsTheyAre(t *testing.T) {
	w, s := mapped(t)
	own := []string{"{\"level\":\"ERROR\",\"message\":\"a\\tb\"}\n", "2026-05-07 ERROR \x1b[31mred\x1b[0m\r\n", "ERROR failed\njava.lang.Exception\n\tat b.C\n", "without an end", "\n", ""}
	for _, text := range own {
		if !w.write(ul.Error, kindOwn, 0, []byte(text)) {
			t.Fatal("the ring refused a line")
		}
	}
	w.event(1, "behind")
	s.rounds(2)
	got, err := os.ReadFile(filepath.Join(s.source, testName.text()))
	if err != nil {
		t.Fatal(err)
	}
	want := own[0] + "2026-05-07 ERROR \x1b[31mred\x1b[0m\n" + own[2] + "without an end\n\n\n"
	if before, _, _ := strings.Cut(string(got), "[2025-"); before != want {
		t.Errorf("got %q\nwant %q", before, want)
	}
	if n := testutil.ToFloat64(s.metrics.events.WithLabelValues("error")); n != float64(len(own)) {
		t.Errorf("%v events at error were counted, want all", n)
	}
	wantErrors(t, s, "")
}
