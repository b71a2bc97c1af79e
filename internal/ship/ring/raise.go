package ring

import (
	"hash/crc32"

	"github.com/ullage/ullage/internal/line/loggers"
	"github.com/ullage/ullage/internal/line/ul"
)

// raised is the request in a ring to its JVM.
type raised struct {
	levels loggers.Levels

	// whole means that the ring has the levels in the form that this package writes. A killed
	// process or the application may have left something else.
	whole bool

	generation uint16 // of the rules that were last written
}

const (
	// The word at raisedAt has the lowest level that is wanted from any logger, the level of loggers without a
	// rule, and the generation of the rules, which is 0 if there are no rules.
	allShift        = 8
	generationShift = 16

	// At loggersAt are a checksum of everything after it, the generation, the length of the text, and the text of
	// [loggers.Levels].
	rulesCheck      = 0
	rulesGeneration = 4
	rulesLength     = 8
	rulesText       = 12
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// raisedWord returns the word at raisedAt.
func raisedWord(l loggers.Levels, generation uint16) uint32 {
	all, any, named := l.Lowest()
	word := uint32(any) | uint32(all)<<allShift
	if named {
		word |= uint32(generation) << generationShift
	}
	return word
}

// parseRaised parses the request in a ring's header, which is untrusted.
func parseRaised(h []byte) (r raised) {
	word, rules := le.Uint32(h[raisedAt:]), h[loggersAt:loggersEnd]
	r.generation = uint16(le.Uint32(rules[rulesGeneration:]))
	r.levels = loggers.Of(ul.Level(word & (1<<allShift - 1)))
	if word>>generationShift != 0 {
		n := le.Uint32(rules[rulesLength:])
		if n > loggers.MaxText || le.Uint32(rules) != crc32.Checksum(rules[rulesGeneration:rulesText+n], castagnoli) {
			return raised{generation: r.generation}
		}
		_ = r.levels.UnmarshalText(rules[rulesText : rulesText+n]) // after an error, the levels are zero
	}
	if r.whole = word == raisedWord(r.levels, r.generation); !r.whole {
		r.levels = loggers.Levels{}
	}
	return r
}

// raise asks the JVM for levels, unless the ring already asks for them. It writes the rules before the word. The
// word has the generation of the rules, so that a JVM does not use other rules by mistake.
func (f *file) raise(to loggers.Levels) error {
	if f.raised.whole && f.raised.levels == to {
		return nil
	}
	f.raised.whole = false // until the word and the rules are written
	if _, _, named := to.Lowest(); named {
		f.raised.generation = max(1, f.raised.generation+1)
		rules := append(make([]byte, rulesText), to.String()...)
		le.PutUint32(rules[rulesGeneration:], uint32(f.raised.generation))
		le.PutUint32(rules[rulesLength:], uint32(len(rules)-rulesText))
		le.PutUint32(rules[rulesCheck:], crc32.Checksum(rules[rulesGeneration:], castagnoli))
		if err := f.put(stepFlag, rules, loggersAt); err != nil {
			return err
		}
	}
	if err := f.setFlag(raisedAt, raisedWord(to, f.raised.generation)); err != nil {
		return err
	}
	f.raised.levels, f.raised.whole = to, true
	return nil
}
