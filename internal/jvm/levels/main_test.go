package levels

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// Most tests only wait for a second or two to pass, so many can run at once. Fuzzing does not wait
// and keeps the default limit, because it starts as many workers as tests may run at once.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.fuzz").Value.String() == "" {
		if err := flag.Set("test.parallel", "8"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}
