package address

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage/ullage/internal/base/settings"
)

// Options are the options after the question mark of a sink's URL. Each getter returns the value
// in the URL or, without one, the default. The first error is kept for Done. The argument usage
// of a getter is the text about the option in docs/sinks.md.
type Options struct {
	values url.Values
	asked  map[string]Option // the arguments of the getters, by name
	err    error
}

// Option is an option for which a getter was called.
type Option struct{ Name, Default, Usage string }

// NewOptions returns the options of a parsed query.
func NewOptions(query url.Values) Options {
	return Options{values: query, asked: map[string]Option{}}
}

// Asked returns the options for which getters were called, sorted by name.
func (o *Options) Asked() []Option {
	return slices.SortedFunc(maps.Values(o.asked), func(a, b Option) int { return strings.Compare(a.Name, b.Name) })
}

// Text returns the text of an option.
func (o *Options) Text(name, otherwise, usage string) string {
	o.asked[name] = Option{name, otherwise, usage}
	if !o.values.Has(name) {
		return otherwise
	}
	return o.values.Get(name)
}

// Bool returns an option whose value is true or false.
func (o *Options) Bool(name string, otherwise bool, usage string) (value bool) {
	return parsed(o, name, otherwise, usage, strconv.ParseBool)
}

// Size returns an option whose value is a size such as 8Mi.
func (o *Options) Size(name string, otherwise settings.Size, usage string) settings.Size {
	return parsed(o, name, otherwise, usage, func(text string) (size settings.Size, err error) {
		err = size.Set(text)
		return size, err
	})
}

func parsed[T any](o *Options, name string, otherwise T, usage string, parse func(string) (T, error)) T {
	text := o.Text(name, "", usage)
	o.asked[name] = Option{name, fmt.Sprint(otherwise), usage}
	if text == "" {
		return otherwise
	}
	value, err := parse(text)
	if err != nil && o.err == nil {
		err = fmt.Errorf("option %s=%q: %w", name, text, err)
		o.err = err
	}
	return value
}

// Done returns the first error of the getters, or else an error that lists the options for
// which no getter was called.
func (o *Options) Done() error {
	if o.err != nil {
		return o.err
	}
	var unknown []string
	for name := range o.values {
		if _, ok := o.asked[name]; !ok {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	known := slices.Sorted(maps.Keys(o.asked))
	return fmt.Errorf("unknown option %s: the options are %s", strings.Join(unknown, ", "), strings.Join(known, ", "))
}
