package jvm

import (
	"bytes"
	"fmt"
	"slices"
	"time"
)

// Comparison compares the persisted lines of a JVM with the lines of its second output; see the package
// documentation. All numbers count lines.
type Comparison struct {
	Written   int
	Persisted int
	Missing   int // written and not persisted
	Twice     int // persisted more often than written
	Foreign   int // persisted and never written
	Moved     int // at another place in the sequence of its thread
	Repeated  int // written twice by the JVM itself, while its level changed
	Identical bool
	First     string // the first wrong line, for failure messages
}

// Same reports whether exactly the written lines were persisted, each thread's lines in order.
func (c Comparison) Same() bool {
	return c.Missing == 0 && c.Twice == 0 && c.Foreign == 0 && c.Moved == 0
}

func (c Comparison) String() string {
	text := fmt.Sprintf("%d lines written, %d persisted, %d missing, %d twice, %d foreign, %d moved",
		c.Written, c.Persisted, c.Missing, c.Twice, c.Foreign, c.Moved)
	if c.Repeated > 0 {
		text += fmt.Sprintf(", %d written twice by the JVM while its level changed", c.Repeated)
	}
	if c.Identical {
		text += ", byte-identical"
	}
	if c.First != "" {
		text += "\n" + c.First
	}
	return text
}

// Compare compares the persisted text of an output with a second output. If they are not identical, their decorations
// must begin with a time and have the thread as the third field, as [Decorations] does.
//
// Changes are the times at which the level of the first output was changed, but not the level of the second. HotSpot
// may then write a message to the first output twice, which is not the shipper's fault; see the package
// documentation.
func Compare(written, persisted []byte, changes ...time.Time) Comparison {
	c := Comparison{
		Written: bytes.Count(written, newline), Persisted: bytes.Count(persisted, newline),
		Identical: bytes.Equal(written, persisted),
	}
	if c.Identical {
		return c
	}
	want, got := byThread(written), byThread(persisted)
	for thread := range got {
		got[thread] = c.withoutRepeats(want[thread], got[thread], changes)
	}
	c.count(want, got)
	if c.Same() {
		c.order(want, got)
	}
	return c
}

var newline = []byte("\n")

// nearby is the largest time between a repeated line and the change of level that explains it. The time of a
// change is measured outside the JVM, and so is not exact.
const nearby = time.Second

// withoutRepeats removes, and counts, the messages of a thread that the JVM itself repeated when its level changed.
// Such a message directly follows its first copy, its time is near a change, and the second output has it once.
func (c *Comparison) withoutRepeats(want, got []string, changes []time.Time) []string {
	if len(changes) == 0 {
		return got
	}
	surplus := map[string]int{}
	for _, line := range got {
		surplus[line]++
	}
	for _, line := range want {
		surplus[line]--
	}
	var once, last []string
	for _, message := range messages(got) {
		tooMany := !slices.ContainsFunc(message, func(line string) bool { return surplus[line] <= 0 })
		if !tooMany || !slices.Equal(message, last) || !isNear(message[0], changes) {
			once, last = append(once, message...), message
			continue
		}
		for _, line := range message {
			surplus[line]--
		}
		c.Repeated += len(message)
		last = nil // a change repeats a message only once
	}
	return once
}

// messages groups lines into messages: a header and its continuation lines.
func messages(lines []string) (all [][]string) {
	begin := 0
	for i := range lines {
		if i > begin && isHeader([]byte(lines[i])) {
			all = append(all, lines[begin:i])
			begin = i
		}
	}
	if begin < len(lines) {
		all = append(all, lines[begin:])
	}
	return all
}

func isNear(line string, changes []time.Time) bool {
	at, ok := TimeOf([]byte(line))
	return ok && slices.ContainsFunc(changes, func(change time.Time) bool { return at.Sub(change).Abs() <= nearby })
}

// TimeOf reads the first decoration of a line.
func TimeOf(line []byte) (time.Time, bool) {
	text, _, ok := bytes.Cut(bytes.TrimPrefix(line, []byte("[")), []byte("]"))
	at, err := time.Parse("2006-01-02T15:04:05.000-0700", string(text))
	return at, ok && err == nil
}

// count compares how often each line occurs.
func (c *Comparison) count(want, got map[string][]string) {
	balance := map[string]int{}
	for _, lines := range got {
		for _, line := range lines {
			balance[line]++
		}
	}
	seen := map[string]bool{}
	for _, lines := range want {
		for _, line := range lines {
			balance[line]--
			seen[line] = true
		}
	}
	for line, n := range balance {
		switch {
		case n < 0:
			c.Missing -= n
			c.wrong("missing", line)
		case n > 0 && seen[line]:
			c.Twice += n
			c.wrong("twice", line)
		case n > 0:
			c.Foreign += n
			c.wrong("foreign", line)
		}
	}
}

// order compares the sequence of lines, each thread separately.
func (c *Comparison) order(want, got map[string][]string) {
	for thread, lines := range want {
		others := got[thread]
		if slices.Equal(lines, others) {
			continue
		}
		for i, line := range lines {
			if i >= len(others) || others[i] != line {
				c.Moved++
				c.wrong("moved", line)
			}
		}
	}
}

// wrong keeps the earliest wrong line. Text order is time order, because lines begin with a time.
func (c *Comparison) wrong(what, line string) {
	text := fmt.Sprintf("%.300s (%s)", line, what)
	if c.First == "" || text < c.First {
		c.First = text
	}
}

// byThread returns the lines of each thread in their order, without the padding of their decorations. Continuation
// lines belong to the thread that wrote the header, since a message is never torn.
func byThread(text []byte) map[string][]string {
	threads := map[string][]string{}
	thread := ""
	for line := range bytes.Lines(text) {
		line = unpadded(line)
		if isHeader(line) {
			thread = field(line, 2)
		}
		threads[thread] = append(threads[thread], string(line))
	}
	return threads
}

// isHeader reports whether a line begins with a time: "[2026-".
func isHeader(line []byte) bool {
	return len(line) > 6 && line[0] == '[' && line[5] == '-' && '1' <= line[1] && line[1] <= '9'
}

// field returns the n-th bracketed field.
func field(line []byte, n int) string {
	for ; n > 0; n-- {
		_, line, _ = bytes.Cut(line, []byte("]["))
	}
	text, _, _ := bytes.Cut(line, []byte("]"))
	return string(text)
}

// unpadded removes the spaces before each bracket that closes a decoration.
func unpadded(line []byte) []byte {
	if len(line) == 0 || line[0] != '[' {
		return line
	}
	end := bytes.Index(line, []byte("] "))
	if end < 0 {
		return line
	}
	out := make([]byte, 0, len(line))
	for _, b := range line[:end+1] {
		if b == ']' {
			out = bytes.TrimRight(out, " ")
		}
		out = append(out, b)
	}
	return append(out, line[end+1:]...)
}
