package cat

import (
	"context"
	"slices"

	"github.com/ullage/ullage/internal/segment/owner"
)

// lacks lists what the destinations do not have yet of the streams whose gaps are listed.
type lacks []owner.Lack

// gaps reports whether the missing data has, or may have, gaps.
func (l lacks) gaps() bool {
	return slices.ContainsFunc(l, func(one owner.Lack) bool { return one.DroppedLines > 0 || one.Unasked != "" })
}

// ask finds out, before the gaps are listed, what the sidecars that own the destinations
// have yet to persist. A gap in that data cannot be listed, because its marker is persisted
// only with the lines around it.
func (l *lacks) ask(ctx context.Context, cfg Config, items []item) error {
	if !cfg.listing() || cfg.Follow {
		return nil
	}
	asked := map[owner.Destination]bool{}
	for _, item := range items {
		dir, wants := item.dest, cfg.matches
		if dir == "" && len(item.series) == 1 {
			dir = item.series[0].dir
		}
		dest, stream, ok := owner.Of(dir)
		if dir == "" || !ok || asked[dest] {
			continue
		}
		if stream == "" {
			asked[dest] = true
		} else {
			wants = func(name string) bool { return name == stream }
		}
		lack, err := dest.Lacks(ctx, wants, cfg.Until)
		if err != nil {
			return err
		}
		if lack != nil {
			*l = append(*l, *lack)
		}
	}
	return nil
}
