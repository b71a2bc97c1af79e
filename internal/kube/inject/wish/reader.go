package wish

import (
	"flag"
	"fmt"
	"strings"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/sidecar"
)

// MaxText bounds a warning or a problem, in bytes. Either may quote an annotation.
const MaxText = 600

// reader reads settings. An empty setting is the same as a missing one.
type reader struct {
	annotations, defaults map[string]string // the latter without [ask.Prefix]
	policy                Policy
	ignored               map[string]string // a warning, by setting
	problems              []string
}

// asked returns the pod's own value of a setting.
func (r *reader) asked(name string) string {
	return strings.TrimSpace(r.annotations[ask.Prefix+name])
}

// byDefault returns the default value of a setting.
func (r *reader) byDefault(name string) string { return strings.TrimSpace(r.defaults[name]) }

// value returns the value that the pod gets. It records the policy's warning.
func (r *reader) value(name string) string {
	v, warning := r.policy.apply(name, r.asked(name), r.byDefault(name))
	if warning != "" {
		r.ignored[name] = warning
	}
	return v
}

// check records a problem with the value of a setting, if there is one.
func (r *reader) check(name string, err error) {
	if err != nil {
		r.problem("%s%s %.80q: %s", ask.Prefix, name, r.value(name), err)
	}
}

func (r *reader) problem(format string, args ...any) {
	r.problems = append(r.problems, printable.Text(fmt.Sprintf(format, args...), MaxText))
}

// flagsOf sets cfg to its defaults and returns its flags.
func flagsOf(cfg *sidecar.Config) *flag.FlagSet {
	*cfg = sidecar.DefaultConfig()
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	cfg.Flags(fs)
	return fs
}

// checkNames reports annotations that are not settings.
func (r *reader) checkNames(fs *flag.FlagSet) {
	known := ask.AtAdmission()
	fs.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
	_, found := ask.ParseRequest(r.annotations, known)
	for _, p := range found {
		r.problem("%s %q: %s", p.Key, p.Value, p.Text)
	}
}
