package sink

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/segment"
)

// Feed delivers all lines of one finished stream to a sink. Tests use it to compare a sink with
// the other readers, which import this package.
func Feed(ctx context.Context, dir, stream string, to Sink) error {
	var m lineMemory
	complete := func() (segment.Mark, bool) { return segment.Mark{}, false }
	f, err := newLineFeed(dir, stream, format.Rules{}.Classifier(stream), cursor{}, &m, complete, func(error) {})
	if err != nil {
		return err
	}
	defer f.close()
	for {
		b, err := f.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read stream %s: %w", stream, err)
		}
		if err := to.Deliver(ctx, b); err != nil {
			return err
		}
		f.acknowledge()
	}
}
