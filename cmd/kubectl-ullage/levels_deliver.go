package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
)

// deliverAgain is how long to wait for a sidecar to see the annotations before the pod is
// annotated again. A kubelet usually takes less than 2 s.
const deliverAgain = 5 * time.Second

// delivery brings a change of annotations to the sidecars of one pod.
//
// The pod's kubelet copies the annotations into a volume of the pod, in two loops of 100 ms
// each: one notes the changed pod, the other writes the volume. If the second loop reads the
// pod just before the first loop notes the change, the second loop writes the old volume and
// regards the change as written. The change then waits for the kubelet's next sync of the pod,
// 60 to 90 s later. This happens to about one change in a hundred
// (kubernetes/kubernetes#29633). Any other change to the pod starts a sync at once.
type delivery struct {
	of      sidecar // one of the pod's sidecars
	changes []string
	idKey   string // of the annotation that distinguishes raises
	every   time.Duration
	shown   *progress

	mu    sync.Mutex
	began time.Time
	last  time.Time // when the pod was annotated last
}

// deliver annotates the pod of a sidecar.
func (c *levelsConfig) deliver(ctx context.Context, s sidecar, changes []string, idKey string, shown *progress) (*delivery, error) {
	d := &delivery{of: s, changes: changes, idKey: idKey, every: min(deliverAgain, c.timeout/3), shown: shown}
	if err := d.annotate(ctx, changes); err != nil {
		return nil, err
	}
	d.began, d.last = time.Now(), time.Now()
	return d, nil
}

func (d *delivery) annotate(ctx context.Context, changes []string) error {
	args := append([]string{"annotate", "--overwrite", "pod/" + d.of.pod}, changes...)
	if _, err := d.of.cluster.run(ctx, maxStatus, args...); err != nil {
		return fmt.Errorf("annotate pod %s: %w", d.of.pod, err)
	}
	return nil
}

// unseen is called as long as the change is not in effect in a sidecar. At intervals, it reports the
// delay and changes the pod twice: first to another ID, then back to the requested annotations. If the
// sidecar has seen the change before, unseen changes nothing. It then reports whether the change is
// lost: until the interval is over, the sidecar may still see the other ID.
func (d *delivery) unseen(ctx context.Context, before bool) (lost bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if before || time.Since(d.last) < d.every {
		return before && time.Since(d.last) >= d.every
	}
	pod := printable.Line(d.of.pod)
	d.shown.line("%s: the sidecar has not seen the annotations after %s: the kubelet usually writes them into the pod within 2s, and at the latest within 90s; annotating the pod again",
		pod, time.Since(d.began).Round(time.Second))
	err := d.annotate(ctx, []string{d.idKey + "=" + newID()})
	if err == nil {
		err = d.annotate(context.WithoutCancel(ctx), d.changes) // so that the other ID does not remain
	}
	if err != nil && ctx.Err() == nil {
		d.shown.line("%s: %s", pod, printable.Line(err.Error()))
	}
	d.last = time.Now()
	return false
}
