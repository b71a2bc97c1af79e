package levels

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// Most tests wait for a second or two to pass, so many can run at once. Fuzzing
// does not wait, and has as many workers.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.fuzz").Value.String() == "" {
		if err := flag.Set("test.parallel", "8"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}
