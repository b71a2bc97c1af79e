package main

import (
	"errors"
	"os"
	"testing"
)

// process is a kubectl that takes signals as its operating system permits.
type process struct {
	refuses error // what Signal returns
	killed  bool
}

func (p *process) Signal(os.Signal) error { return p.refuses }

func (p *process) Kill() error {
	p.killed = true
	return nil
}

func TestKubectlIsKilledWhereItCannotBeInterrupted(t *testing.T) {
	for _, c := range []struct {
		name    string
		refuses error
		killed  bool
	}{
		{"it is interrupted", nil, false},
		{"it has ended", os.ErrProcessDone, false},
		{"Windows", errors.New("not supported by windows"), true},
	} {
		p := &process{refuses: c.refuses}
		if err := end(p); p.killed != c.killed || c.killed && err != nil {
			t.Errorf("%s: killed is %v, the error is %v; want killed %v, and no error if it was killed", c.name, p.killed, err, c.killed)
		}
	}
}
