package sidecar

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/ship"
)

// The live page draws marks on the bar of the budget where the shipper acts.
func TestThePageMarksTheBudgetWhereTheShipperActs(t *testing.T) {
	script, err := os.ReadFile("../base/admin/live/live.js")
	if err != nil {
		t.Fatal(err)
	}
	c := ship.DefaultConfig()
	if want := fmt.Sprintf("const MARKS = { spool: %d, discard: %d, drop: %d };", c.SpoolAt, c.DiscardAt, c.DropAt); !strings.Contains(string(script), want) {
		t.Errorf("live.js lacks %q", want)
	}
}
