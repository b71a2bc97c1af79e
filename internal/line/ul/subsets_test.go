package ul

import (
	"fmt"
	"testing"
)

// A printed has the text that HotSpot prints for each decorator.
type printed [12]string

var typical = printed{
	"2026-11-20T16:45:11.123+0100", "2026-11-20T15:45:11.123+0000", "0.397s", "1795193160091ms", "475ms",
	"894000463518ns", "4207979ns", "payments-7f9c", "26343", "26350", "info", "gc,heap",
}

// line formats a line with the set as HotSpot does: each field is left-aligned in its width.
func (p *printed) line(set Decorator, padding int, message string) string {
	var b []byte
	for i, text := range p {
		if set&(1<<i) != 0 {
			b = fmt.Appendf(b, "[%-*s]", len(text)+padding, text)
		}
	}
	if set != 0 {
		b = append(b, ' ')
	}
	return string(append(b, message...))
}

// read returns how the set must be read back according to the documentation: in
// some pairs, only the presence of both decorators distinguishes them.
func (p *printed) read(set Decorator) (present, ambiguous Decorator, as printed) {
	as = *p
	lone := func(first, second Decorator, i, j int) {
		if set&(first|second) == second {
			set ^= first | second
			as[i] = as[j]
		}
	}
	lone(Time, UTCTime, 0, 1)
	lone(PID, TID, 8, 9)
	if set&(TimeNanos|UptimeNanos) == TimeNanos {
		set ^= TimeNanos | UptimeNanos
		as[6] = as[5]
	}
	if set&(Time|UTCTime) == Time && as[0][23:] == "+0000" {
		ambiguous |= Time
	}
	if set&(TimeNanos|UptimeNanos) == UptimeNanos {
		ambiguous |= UptimeNanos
	}
	if set&(PID|TID) == PID {
		ambiguous |= PID
	}
	return set, ambiguous, as
}

var messages = []string{"GC(0) Pause", "", "[a][b] c", "[0.001s][error][gc] nested", "[       ] blank", " ] x", "[info]"}

func TestEverySubsetOfTheDecoratorsIsReadBack(t *testing.T) {
	undecorated := map[string]string{ // messages alone, with the decorators none
		messages[2]: "header hostname=a tags=b | c",
		messages[3]: "header error uptime=0.001s tags=gc | nested",
		messages[4]: "continuation | blank",
	}
	for set := range Decorator(1 << 12) {
		for _, padding := range []int{0, 3} {
			for _, message := range messages {
				line := typical.line(set, padding, message)
				var r Record
				r.Parse([]byte(line))
				want := expect(&typical, set, message)
				if set == 0 {
					want = "text | " + message
					if undecorated[message] != "" {
						want = undecorated[message]
					}
				}
				if got := show(&r); got != want {
					t.Fatalf("%s\n got %s\nwant %s", line, got, want)
				}
			}
		}
	}
}

func expect(p *printed, set Decorator, message string) string {
	present, ambiguous, as := p.read(set)
	r := Record{Kind: Header, Message: []byte(message), Present: present, Ambiguous: ambiguous}
	for i, text := range as {
		if d := Decorator(1 << i); present&d != 0 {
			r.set(d, []byte(text))
		}
	}
	r.Level = levelOf(r.LevelName)
	return show(&r)
}

func TestEverySubsetWithATagLikeHostname(t *testing.T) {
	p := typical
	p[7], p[11] = "payments", "gc"
	for set := range Decorator(1 << 12) {
		for _, padding := range []int{0, 3} {
			line := p.line(set, padding, "x")
			var r Record
			r.Parse([]byte(line))
			present, ambiguous, _ := p.read(set)
			// A lone hostname and lone tags are ambiguous, with or without clocks.
			if lone := set &^ (1<<7 - 1); lone == Hostname || lone == Tags {
				present = present&^Hostname | Tags
				ambiguous |= Tags
			}
			if r.Present != present || r.Ambiguous != ambiguous || r.UnknownFields != 0 {
				t.Fatalf("%s\n got %s, ambiguous %s\nwant %s, ambiguous %s", line, r.Present, r.Ambiguous, present, ambiguous)
			}
		}
	}
}

func TestEverySubsetWithAMisleadingHostname(t *testing.T) {
	for _, host := range []string{"info", "123", "gc", "warning"} {
		p := typical
		p[7] = host
		// With level, pid and tid, no host name is ambiguous.
		const beside = LevelDecorator | PID | TID
		for set := range Decorator(1 << 12) {
			if set&beside != beside {
				continue
			}
			line := p.line(set, 2, "x")
			var r Record
			r.Parse([]byte(line))
			if got, want := show(&r), expect(&p, set, "x"); got != want {
				t.Fatalf("%s\n got %s\nwant %s", line, got, want)
			}
		}
	}
}

// TestEverySubsetDropsAndContinues also has empty tags, which few records have. A
// continuation line of JDK 24 and later follows each record.
func TestEverySubsetDropsAndContinues(t *testing.T) {
	p := typical
	p[10], p[11] = "warning", ""
	for set := Decorator(1); set < 1<<12; set++ {
		for _, padding := range []int{0, 7} {
			line := p.line(set, padding, "")
			var r Record
			r.Parse([]byte(line + "   293 messages dropped due to async logging"))
			if present, _, _ := p.read(set); r.Kind != Drop || r.Dropped != 293 || r.Present != present || r.Level != Warning {
				t.Fatalf("%s is read as %s, %d dropped; want kind %v, 293 dropped, the decorators %s and level %s",
					line, show(&r), r.Dropped, Drop, present, Warning)
			}
			// The blank bracket is as wide as the decorations, with at least one space.
			r.Parse(fmt.Appendf(nil, "[%*c] x", len(line)-3, ' '))
			if r.Kind != Continuation || string(r.Message) != "x" {
				t.Fatalf(`%s: continued by %s; want kind %v and the message "x"`, line, show(&r), Continuation)
			}
		}
	}
}
