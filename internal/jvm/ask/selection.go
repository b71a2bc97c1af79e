package ask

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/line/ul"
)

const (
	maxSelection = 512 // bytes, as given and in the canonical form
	maxItems     = 16
	maxTags      = 5 // of one item, HotSpot's LogTag::MaxTags
	maxTagLen    = 32
)

// Selection is a parsed -Xlog selection such as "gc*=debug,safepoint=info". It
// never has level off. Selections are comparable by their canonical text; later
// items win over earlier ones. The zero value selects nothing.
type Selection struct{ text string }

// ParseSelection reads a comma-separated list of at most 16 items, each "all[=level]" or one to
// five tags, "tag+tag[*][=level]", in at most 512 bytes. If an item has no level, its level is
// info, as for HotSpot. Case and the spaces around items don't matter. ParseSelection does not
// check whether a tag exists: only the JVM knows its own tags.
func ParseSelection(text string) (Selection, error) {
	if err := checkText(text); err != nil {
		return Selection{}, fmt.Errorf("parse selection: %w", err)
	}
	items := strings.Split(strings.ToLower(text), ",")
	if len(items) > maxItems {
		return Selection{}, fmt.Errorf("parse selection: it has %d items, at most %d are allowed: use wildcards such as gc*", len(items), maxItems)
	}
	for i, item := range items {
		var err error
		if items[i], err = canonicalItem(strings.Trim(item, " ")); err != nil {
			return Selection{}, fmt.Errorf("parse selection %q: %w", text, err)
		}
	}
	canonical := strings.Join(items, ",")
	if err := checkLength(canonical); err != nil { // levels were added
		return Selection{}, fmt.Errorf("parse selection: %w", err)
	}
	return Selection{text: canonical}, nil
}

// String returns the canonical text: lower case, no spaces, every level
// written out. It is "" for the zero value.
func (s Selection) String() string { return s.text }

// IsZero says whether s selects nothing.
func (s Selection) IsZero() bool { return s.text == "" }

// MarshalText returns the canonical text.
func (s Selection) MarshalText() ([]byte, error) { return []byte(s.text), nil }

// UnmarshalText reads a selection as [ParseSelection] does. An empty text is the zero value.
func (s *Selection) UnmarshalText(text []byte) (err error) {
	if *s = (Selection{}); len(text) > 0 {
		*s, err = ParseSelection(string(text))
	}
	return err
}

// Off returns s with a tag set such as "perf+class+link" switched off. No text can ask for such a
// selection.
func (s Selection) Off(tags string) Selection {
	return Selection{text: s.text + "," + tags + "=off"}
}

// checkText refuses text that no selection can contain.
func checkText(text string) error {
	if err := checkLength(text); err != nil {
		return err
	}
	if strings.Trim(text, " ") == "" {
		return errors.New("it is empty: write it like gc*=debug,safepoint=info")
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ' || c == 0x7f:
			return fmt.Errorf("%q has a control character: write it in one line, like gc*=debug,safepoint=info", text)
		case c == '"' || c == '\'':
			return fmt.Errorf("%q has a quote: write it without, like gc*=debug", text)
		case c > 0x7f: // also because the lower case of some such letters is ASCII
			return fmt.Errorf("%q has a character that is not ASCII: write it like gc*=debug", text)
		}
	}
	return nil
}

func checkLength(text string) error {
	if len(text) > maxSelection {
		return fmt.Errorf("it has %d bytes, at most %d are allowed: use wildcards such as gc*", len(text), maxSelection)
	}
	return nil
}

// canonicalItem adds the level to an item. The error says how to write the item.
func canonicalItem(item string) (string, error) {
	tags, level, hasLevel := strings.Cut(item, "=")
	if !hasLevel {
		level = ul.Info.String()
	}
	switch {
	case item == "":
		return "", errors.New("an item is empty: write one comma between two items")
	case isArgument(tags):
		return "", fmt.Errorf("item %q: %s is an argument of VM.log, but only a selection is allowed: write it like gc*=debug", item, tags)
	case level == "off", item == "off": // "off" may also be the whole item: -Xlog:off
		return "", fmt.Errorf("item %q: level off is not allowed, because a JVM closes and deletes an output that has nothing left to log: "+
			"use warning or error to log less", item)
	}
	if err := CheckTags(tags); err != nil {
		return "", fmt.Errorf("item %q: %w", item, err)
	}
	var known ul.Level
	if err := known.Set(level); err != nil {
		return "", fmt.Errorf("item %q: %w", item, err)
	}
	return tags + "=" + known.String(), nil
}

// isArgument says whether name is an argument of VM.log. No tag has such a name.
func isArgument(name string) bool {
	return slices.Contains([]string{"output", "output_options", "what", "decorators", "disable", "list", "rotate"}, name)
}

// CheckTags returns nil if text is "all" or one to five different tags, "tag+tag[*]"; otherwise, it
// says why not. It accepts what HotSpot's LogSelection::parse accepts, in lower case.
func CheckTags(text string) error {
	if text == "all" {
		return nil
	}
	list, _ := strings.CutSuffix(text, "*")
	tags := strings.SplitN(list, "+", maxTags+1)
	for i, tag := range tags {
		switch {
		case i == maxTags:
			return fmt.Errorf("it has more than %d tags: use a wildcard such as gc+heap*", maxTags)
		case !IsTag(tag):
			return fmt.Errorf("%.80q is not a tag: write one to five tags, like gc, gc* or gc+heap*", tag)
		case tag == "all":
			return errors.New(`"all" cannot be combined with tags: write all=info, or only the tags`)
		case slices.Contains(tags[:i], tag):
			return fmt.Errorf("it has the tag %s twice: write it once", tag)
		}
	}
	return nil
}

// IsTag says whether text is a letter and up to 31 letters, digits and
// underscores, in lower case.
func IsTag(text string) bool {
	if text == "" || len(text) > maxTagLen {
		return false
	}
	for i := range len(text) {
		c := text[i]
		if (c < 'a' || c > 'z') && (i == 0 || (c < '0' || c > '9') && c != '_') {
			return false
		}
	}
	return true
}
