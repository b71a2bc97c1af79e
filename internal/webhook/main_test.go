package webhook

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// within is how long a test waits for what takes a moment.
const within = 20 * time.Second
