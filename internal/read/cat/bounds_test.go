package cat

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/seek"
	"github.com/ullage/ullage/internal/segment/store"
)

// timedStream is a stream that a sidecar persists at the times that the test sets.
type timedStream struct {
	*shipped
	stream *store.Stream
	begun  time.Time
	size   int64
}

func newTimedStream(t *testing.T, how segment.Compression) *timedStream {
	d := newShipped(t, how)
	return &timedStream{shipped: d, stream: d.restart("gc.log", segment.Mark{}), begun: time.Now().UTC().Truncate(time.Second)}
}

// commit persists text that the sidecar read at the given time after begun.
func (s *timedStream) commit(after time.Duration, text string) {
	s.t.Helper()
	s.append(s.stream, text)
	s.size = s.sync(s.stream).Offset
	s.stream.SeenUntil(s.begun.Add(after))
}

// print returns the output of `ullage logs`, and the byte at which it began to read.
func (s *timedStream) print(cfg Config) (text string, from int64) {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	p := New(cfg, &stdout, &stderr)
	for _, err := range p.Find([]string{filepath.Join(s.dir, "gc.log")}) {
		s.t.Fatal(err)
	}
	if err := p.Run(context.Background()); err != nil || p.Failed() || stderr.Len() > 0 {
		s.t.Fatalf("error %v, failed: %t, want neither, and nothing on stderr; cat printed there: %s", err, p.Failed(), stderr.String())
	}
	if at := &p.series()[0].source; at.Opened() {
		from = at.Frame().From
	}
	return stdout.String(), from
}

// window returns a Config for the lines between two times after begun.
func (s *timedStream) window(from, to time.Duration) Config {
	return Config{Since: s.begun.Add(from), Until: s.begun.Add(to)}
}

// withoutFile removes the seek file for the duration of a call.
func (s *timedStream) withoutFile(call func()) {
	s.t.Helper()
	path := filepath.Join(s.dir, "gc.log", seek.Name)
	s.must(os.Rename(path, path+".away"))
	call()
	s.must(os.Rename(path+".away", path))
}

// If lines have dates, the seek file does not change the output. This is true for further lines of a message, after a
// backlog, and when the clock is set back.
func TestSeekPrintsTheSameLines(t *testing.T) {
	for _, how := range []segment.Compression{segment.Zstd, segment.None} {
		t.Run(how.String(), func(t *testing.T) {
			s, r := newTimedStream(t, how), rand.New(rand.NewSource(1))
			const minutes = 60
			held, clock := "", s.begun
			for minute := range minutes {
				var text strings.Builder
				if minute == 40 {
					clock = clock.Add(-10 * time.Minute)
				}
				for second := range 60 {
					at := clock.Add(time.Duration(minute)*time.Minute + time.Duration(second)*time.Second)
					fmt.Fprintf(&text, "[%s][info][gc] %d:%d\n", at.Format("2006-01-02T15:04:05.000-0700"), minute, second)
					if r.Intn(5) == 0 {
						text.WriteString("further line\n")
					}
				}
				held += text.String()
				if minute > 20 && minute < 25 { // the destination stalls
					continue
				}
				cut := strings.LastIndexByte(held[:len(held)-1], '\n') + 1 // before the last line
				s.commit(clock.Sub(s.begun)+time.Duration(minute+1)*time.Minute, held[:cut])
				held = held[cut:]
			}
			jumps := 0
			for range 100 {
				from := time.Duration(r.Int63n(int64(minutes * time.Minute)))
				cfg := s.window(from, from+time.Duration(r.Int63n(int64(5*time.Minute))))
				got, at := s.print(cfg)
				if at > 0 {
					jumps++
				}
				s.withoutFile(func() {
					if want, _ := s.print(cfg); got != want {
						t.Fatalf("%v: printed\n%s\nwithout the seek file\n%s", from, got, want)
					}
				})
			}
			if jumps < 40 {
				t.Errorf("began after the start of the stream %d times out of 100, want at least 40", jumps)
			}
		})
	}
}

// Lines without a time are dated to the interval between two entries of the seek file.
func TestLinesWithoutTimeHaveThatOfReading(t *testing.T) {
	s := newTimedStream(t, segment.Zstd)
	for minute := range 30 {
		s.commit(time.Duration(minute)*time.Minute, fmt.Sprintf("text %d\n", minute))
	}
	got, from := s.print(s.window(10*time.Minute+30*time.Second, 12*time.Minute+30*time.Second))
	if want := "text 11\ntext 12\ntext 13\n"; got != want || from == 0 {
		t.Errorf("printed %q from byte %d, want %q", got, from, want)
	}
	s.withoutFile(func() {
		if got, _ := s.print(s.window(10*time.Minute, 12*time.Minute)); strings.Count(got, "\n") != 30 {
			t.Errorf("without the seek file: %q, want all 30 lines", got)
		}
	})
}

// Each JSON object has the time from the seek file by which the sidecar had read the line.
func TestObjectsSayWhenTheirLineWasRead(t *testing.T) {
	s := newTimedStream(t, segment.Zstd)
	for minute := range 3 {
		s.commit(time.Duration(minute)*time.Minute, fmt.Sprintf("text %d\n", minute))
	}
	var want strings.Builder
	for minute := range 3 {
		read := s.begun.Add(time.Duration(minute)*time.Minute + time.Millisecond) // entries are rounded up
		fmt.Fprintf(&want, `{"time":"%s","read":"%[1]s","stream":"gc.log","text":"text %[2]d"}`+"\n", read.Format(jsonTime), minute)
	}
	if got, _ := s.print(Config{JSON: true}); got != want.String() {
		t.Errorf("printed\n%s\nwant\n%s", got, want.String())
	}
	s.withoutFile(func() {
		if got, _ := s.print(Config{JSON: true}); strings.Contains(got, `"read"`) {
			t.Errorf("without the seek file: %s, want no \"read\" in it", got)
		}
	})
}

// A window also selects among lines that have only uptimes, even in the second and third JVM of a stream.
func TestSeekWithUptimesAlone(t *testing.T) {
	s := newTimedStream(t, segment.Zstd)
	for jvm := range 3 {
		for minute := range 60 {
			if jvm == 2 && minute < 5 {
				continue // this JVM has not started yet
			}
			up := time.Duration(minute) * time.Minute
			if jvm == 2 {
				up -= 5 * time.Minute
			}
			s.commit(time.Duration(jvm)*time.Hour+time.Duration(minute)*time.Minute+10*time.Millisecond,
				fmt.Sprintf("[%.3fs][info][gc] %d:%02d\n", up.Seconds()+0.001, jvm, minute))
		}
	}
	for _, c := range []struct {
		from, to time.Duration
		want     []string
	}{
		{90*time.Minute - time.Second, 91*time.Minute + time.Second, []string{"1:30", "1:31"}},
		{119*time.Minute - time.Second, 126*time.Minute + time.Second, []string{"1:59", "2:05", "2:06"}},
		{122 * time.Minute, 124 * time.Minute, nil},
		{170*time.Minute - time.Second, 171*time.Minute + time.Second, []string{"2:50", "2:51"}},
	} {
		text, from := s.print(s.window(c.from, c.to))
		var got []string
		for line := range strings.Lines(text) {
			got = append(got, strings.TrimSpace(line[strings.LastIndexByte(line, ' '):]))
		}
		if strings.Join(got, " ") != strings.Join(c.want, " ") || from < s.size/3 {
			t.Errorf("from %v to %v, read from byte %d of %d: %v, want %v", c.from, c.to, from, s.size, got, c.want)
		}
	}
	// Counting the last lines of a window selects the same lines as printing them.
	cfg := s.window(90*time.Minute-time.Second, 95*time.Minute+time.Second)
	cfg.Tail = 2
	if got, _ := s.print(cfg); strings.Count(got, "\n") != 2 || !strings.Contains(got, "1:35\n") {
		t.Errorf("the last two: %q, want \"\\n\" twice and \"1:35\\n\" in it", got)
	}
}
