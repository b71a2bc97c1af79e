package sink

import (
	"testing"
	"time"
)

// The first reason for a failure may go away while another one lasts.
func TestAnotherReasonOfAFailureIsLogged(t *testing.T) {
	var of told
	began := time.Now()
	for _, c := range []struct {
		after time.Duration
		text  string
		first bool
		want  bool
	}{
		{0, "no network", true, true},
		{time.Second, "no network", false, false},
		{2 * time.Second, "unknown authority", false, false}, // too soon
		{61 * time.Second, "unknown authority", false, true},
		{200 * time.Second, "unknown authority", false, false},
		{201 * time.Second, "no network", false, true},
		{202 * time.Second, "no network", true, true}, // the sink has worked in between
	} {
		if got := of.tells(c.text, c.first, began.Add(c.after)); got != c.want {
			t.Errorf("%q after %s is logged: %t, want %t", c.text, c.after, got, c.want)
		}
	}
}
