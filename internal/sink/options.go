package sink

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/settings"
)

// Options are those behind the question mark of a sink's URL. Each getter returns what
// is given, or else the default, and keeps the first error for Done.
type Options struct {
	values url.Values
	asked  map[string]bool // the names that getters were called with
	err    error
}

// NewOptions returns those of a parsed query.
func NewOptions(query url.Values) Options { return Options{values: query, asked: map[string]bool{}} }

// Text returns an option as it is.
func (o *Options) Text(name, otherwise string) string {
	o.asked[name] = true
	if !o.values.Has(name) {
		return otherwise
	}
	return o.values.Get(name)
}

// Bool returns an option that is true or false.
func (o *Options) Bool(name string, otherwise bool) (value bool) {
	return parsed(o, name, otherwise, strconv.ParseBool)
}

// Duration returns an option such as 10s.
func (o *Options) Duration(name string, otherwise time.Duration) time.Duration {
	return parsed(o, name, otherwise, settings.ParseDuration)
}

// Size returns an option such as 8Mi.
func (o *Options) Size(name string, otherwise settings.Size) settings.Size {
	return parsed(o, name, otherwise, func(text string) (size settings.Size, err error) {
		err = size.Set(text)
		return size, err
	})
}

func parsed[T any](o *Options, name string, otherwise T, parse func(string) (T, error)) T {
	text := o.Text(name, "")
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

// Done returns the first error of the getters, or one that names an option that none
// of them asked for.
func (o *Options) Done() error {
	if o.err != nil {
		return o.err
	}
	var unknown, known []string
	for name := range o.values {
		if !o.asked[name] {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	for name := range o.asked {
		known = append(known, name)
	}
	slices.Sort(unknown)
	slices.Sort(known)
	return fmt.Errorf("unknown option %s: the options are %s", strings.Join(unknown, ", "), strings.Join(known, ", "))
}
