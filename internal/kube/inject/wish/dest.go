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

// Destination is a parsed ullage.dev/dest. The zero value is an emptyDir.
type Destination struct {
	Claim string        // pvc:NAME
	Size  settings.Size // ephemeral:SIZE[:CLASS]
	Class string

	// volume:NAME[/DIR]: a volume of the pod, and a directory in it.
	Volume, Dir string
}

// directory matches a directory in a volume. (Two dots are checked separately.)
var directory = regexp.MustCompile(`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$`)

func parseDestination(text string) (Destination, error) {
	kind, rest, _ := strings.Cut(text, ":")
	switch kind {
	case "emptyDir":
		if text == kind {
			return Destination{}, nil
		}
	case "pvc":
		if names.IsName(rest) {
			return Destination{Claim: rest}, nil
		}
	case "volume":
		name, dir, hasDir := strings.Cut(rest, "/")
		if names.IsName(name) && len(rest) <= maxValue && (!hasDir || directory.MatchString(dir) && !slices.Contains(strings.Split(dir, "/"), "..")) {
			return Destination{Volume: name, Dir: dir}, nil
		}
	case "ephemeral":
		size, class, hasClass := strings.Cut(rest, ":")
		if n, err := settings.ParseSize(size); err == nil && n > 0 && (!hasClass || names.IsName(class)) {
			return Destination{Size: n, Class: class}, nil
		}
	}
	return Destination{}, errors.New("write it like pvc:CLAIM, volume:NAME, volume:NAME/DIR, ephemeral:10Gi, ephemeral:10Gi:STORAGECLASS or emptyDir")
}

func (d Destination) String() string {
	switch {
	case d.Claim != "":
		return "pvc:" + d.Claim
	case d.Volume != "":
		return "volume:" + path.Join(d.Volume, d.Dir)
	case d.Class != "":
		return fmt.Sprintf("ephemeral:%s:%s", d.Size, d.Class)
	case d.Size != 0:
		return "ephemeral:" + d.Size.String()
	}
	return "emptyDir"
}

// OnNode reports whether the copy is part of the pod's ephemeral storage.
func (d Destination) OnNode() bool { return d.Claim == "" && d.Volume == "" && d.Size == 0 }

// Shared reports whether other pods may also use the volume.
func (d Destination) Shared() bool { return d.Claim != "" || d.Volume != "" }
