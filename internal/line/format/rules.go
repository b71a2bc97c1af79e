package format

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// maxRules bounds the number of rules: each stream is compared with all rules.
const maxRules = 64

// Rule sets the format of streams.
type Rule struct {
	Glob   string // of the streams' names, as in [path.Match]
	Format Format
}

// Rules are the values of --format. The first rule that matches a stream wins. Rules
// implements [flag.Value]. With the zero value, each stream has the format Auto.
type Rules []Rule

// Set adds the rules in text, which have the form GLOB=NAME and are separated by spaces.
func (r *Rules) Set(text string) error {
	for _, one := range strings.Fields(text) {
		glob, name, found := cutLast(one, '=')
		if _, err := path.Match(glob, "x"); err != nil || !found || glob == "" || strings.Contains(glob, "/") {
			return fmt.Errorf("%q does not begin with a pattern for names of streams: use GLOB=FORMAT, for example 'app*.log=json'", one)
		}
		format, err := Parse(name)
		if err != nil {
			return err
		}
		if len(*r) == maxRules {
			return errors.New("too many rules: at most 64 are allowed")
		}
		*r = append(*r, Rule{glob, format})
	}
	return nil
}

// cutLast cuts text at the last sep. The text before it may contain sep too.
func cutLast(text string, sep byte) (before, after string, found bool) {
	i := strings.LastIndexByte(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+1:], true
}

// String returns the rules in the form that Set reads.
func (r *Rules) String() string {
	if r == nil {
		return ""
	}
	texts := make([]string, len(*r))
	for i, rule := range *r {
		texts[i] = rule.Glob + "=" + rule.Format.String()
	}
	return strings.Join(texts, " ")
}

// Classifier returns a Classifier for the named stream.
func (r Rules) Classifier(stream string) Classifier {
	for _, rule := range r {
		if ok, _ := path.Match(rule.Glob, stream); ok {
			return New(rule.Format)
		}
	}
	return Classifier{}
}
