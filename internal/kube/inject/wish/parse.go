package wish

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/kube/names"
)

// Bounds of values.
const (
	maxValue = 256  // bytes of the value of a flag
	maxURLs  = 2048 // bytes of sink, which may have several URLs
)

// image matches any printable ASCII text without spaces; the registry decides
// whether the name is valid.
var image = regexp.MustCompile(`^[!-~]+$`)

// qualified reports whether the name of an image begins with a registry.
func qualified(name string) bool {
	registry, rest, ok := strings.Cut(name, "/")
	return ok && rest != "" && (registry == "localhost" || strings.ContainsAny(registry, ".:"))
}

func checkImage(name string) error {
	if !image.MatchString(name) || !qualified(name) || len(name) > 2*maxValue {
		return errors.New("name the sidecar's image with its registry, like registry.example/ullage:v1 or localhost/ullage:v1")
	}
	return nil
}

// oneOf reports whether text is the first of two words.
func oneOf(text, one, other string) (isOne bool, err error) {
	if text != one && text != other {
		return false, fmt.Errorf("use %s or %s", one, other)
	}
	return text == one, nil
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok || err != nil // reported elsewhere as a problem
}

// MaxJVMs is how many containers of a pod may have a JVM.
const MaxJVMs = 8

// parseContainers reads a list of names, separated by commas. An empty text is an
// empty list.
func parseContainers(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	names := strings.Split(text, ",")
	if len(names) > MaxJVMs {
		return nil, fmt.Errorf("it names %d containers, at most %d are allowed", len(names), MaxJVMs)
	}
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
		if names[i] == "" {
			return nil, errors.New("a name is empty: write it like app,worker")
		}
		if slices.Contains(names[:i], names[i]) {
			return nil, fmt.Errorf("it has %.80q twice: write it once", names[i])
		}
	}
	return names, nil
}

// Variables that give a JVM options.
const (
	// LauncherVariable is read by the java program of JDK 9 or later: after
	// ToolVariable, and before the command line. No other program reads it, so
	// jcmd and keytool open no log. The java of JDK 8, which does not know our
	// options, ignores it. Images rarely set it, and options that they set in
	// ToolVariable stay in effect.
	LauncherVariable = "JDK_JAVA_OPTIONS"

	// ToolVariable is read by every JVM, even by one that is embedded in another program.
	ToolVariable = "JAVA_TOOL_OPTIONS"
)

// NoVariable means that no options are added.
const NoVariable = "off"

// Variable is the environment variable with the options of the JVMs.
type Variable struct {
	Name string

	// Asked means that an annotation or a default names the variable.
	Asked bool
}

// parseVariable reads the name of a variable. An empty text means [LauncherVariable].
func parseVariable(text string) (Variable, error) {
	switch {
	case text == "":
		return Variable{Name: LauncherVariable}, nil
	case len(text) > maxValue || !variableName.MatchString(text):
		return Variable{}, errors.New("it is not the name of an environment variable: write it like JDK_JAVA_OPTIONS, JAVA_TOOL_OPTIONS or ES_JAVA_OPTS, or off")
	}
	return Variable{Name: text, Asked: true}, nil
}

const (
	minBuffer     = settings.Mi // the same as for --budget
	defaultBuffer = "64Mi"
)

// parseBuffer reads the size of the tmpfs.
func parseBuffer(text string) (settings.Size, error) {
	size, err := settings.ParseSize(text)
	if err != nil || size < minBuffer {
		err = fmt.Errorf("it is not a size of at least %s: write it like 64Mi", minBuffer)
	}
	return size, err
}

// Bounds of the size of a ring, the same as in the library.
const (
	minRing = 256 * settings.Ki
	maxRing = settings.Gi
)

// parseEvents reads the size of the ring of events. Zero means no ring.
func parseEvents(text string) (settings.Size, error) {
	if text == "" || text == "off" {
		return 0, nil
	}
	size, err := settings.ParseSize(text)
	if err != nil || size < minRing || size > maxRing {
		return 0, fmt.Errorf("it is not a size from %s to %s: write it like 2Mi, or off", minRing, maxRing)
	}
	return size, nil
}

// parseSecret checks the name of the Secret for the sinks. An empty text means no Secret.
func parseSecret(text string) (string, error) {
	if text != "" && !names.IsName(text) {
		return "", errors.New("it is not the name of a Secret: write it like logs-bucket")
	}
	return text, nil
}
