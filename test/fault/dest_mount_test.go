package fault

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// The volume of the destination is unmounted, or another one is mounted over it. Nothing is written to the wrong
// place, nothing that was committed is lost, and once the volume is back the sidecar recovers.
func TestVolumeOfTheDestinationIsAway(t *testing.T) {
	for name, c := range map[string]struct{ take, back func(v *volume) error }{
		"unmounted": {
			func(v *volume) error { return unix.Unmount(v.Dir, unix.MNT_DETACH) },
			func(v *volume) error { v.mount(); return nil },
		},
		"another volume over it": {
			func(v *volume) error { return unix.Mount("none", v.Dir, "tmpfs", 0, "size=8m") },
			func(v *volume) error { return unix.Unmount(v.Dir, 0) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVolume(t)
			r := newRig(t, v.Dir)
			if err := c.take(v); err != nil {
				t.Fatal(err)
			}
			r.turnsRed("missing", "mount the volume again")
			lab.Eventually(t, patience, "the sidecar retries the destination", func() bool {
				return r.metric(`ullage_destination_errors_total{kind="missing"}`) >= 4
			})
			if entries, err := os.ReadDir(v.Dir); err != nil || len(entries) > 0 {
				t.Errorf("the sidecar created %v, error %v; want an empty directory and no error", entries, err)
			}
			if err := c.back(v); err != nil {
				t.Fatal(err)
			}
			r.turnsGreen()
			r.persists(1000)
			r.balances()
		})
	}
}
