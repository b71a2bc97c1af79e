package cli

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgressIsShownNowAndThenAndCleared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newProgress(&out)
		p.Read(1<<20, 100<<20)
		p.Clear()
		if out.Len() > 0 {
			t.Errorf("work that takes no time shows %q, want nothing", &out)
		}
		time.Sleep(time.Second)
		p.Read(2<<20, 100<<20)
		p.Read(3<<20, 100<<20)
		time.Sleep(time.Second)
		p.Read(4, 5)
		p.Clear()
		p.Clear()
		first, second := "reading: 2.00 MiB of 100 MiB", "reading: 4 B of 5 B"
		want := "\r" + first + "\r" + second + strings.Repeat(" ", len(first)-len(second)) + "\r" + strings.Repeat(" ", len(second)) + "\r"
		if out.String() != want {
			t.Errorf("the terminal got %q, want %q", &out, want)
		}
	})
}

func TestProgressOfAWaitCountsSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		stop := newProgress(&out).Wait("reading")
		time.Sleep(2500 * time.Millisecond)
		stop()
		want := "\rreading ...\rreading ... 1 s\rreading ... 2 s\r" + strings.Repeat(" ", len("reading ... 2 s")) + "\r"
		if out.String() != want {
			t.Errorf("the terminal got %q, want %q", &out, want)
		}
	})
}

// A file, a pipe and /dev/null are not terminals.
func TestWithoutATerminalNoProgressIsShown(t *testing.T) {
	var out bytes.Buffer
	p := NewProgress(&out)
	p.Read(1, 2)
	p.Wait("reading")()
	p.Clear()
	if p != nil || out.Len() > 0 {
		t.Errorf("without a terminal, the Progress is %v and shows %q; want nil and nothing", p, &out)
	}
}
