package webhook

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/ullage/ullage/test/lab"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const within = lab.Patience
