package plan

import (
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
)

// JVM is what a status shows about one JVM.
type JVM struct {
	ID      string
	PID     int
	Applied ask.Selection // the raise that the JVM accepted; zero: none
	Outputs []string
	Adopted ask.Selection // the selection of the output that the JVM was given; zero: it was not given one
	Error   string
	Kind    attach.Kind // the kind of Error
}

// maxError bounds the text of one error. It is large because a refusal includes HotSpot's suggestions.
const maxError = 2048

// JVMs returns the JVMs that the last search found. While there is nothing to do, no search
// takes place and JVMs returns nil, see [Plan.Rest].
func (p *Plan) JVMs() (all []JVM) {
	for _, j := range p.found.JVMs {
		is := JVM{ID: j.ID, PID: j.PID}
		if b := p.State.JVMs[j.ID]; b != nil {
			is.Applied = b.Applied
			for _, o := range b.Outputs {
				is.Outputs = append(is.Outputs, o.Name)
			}
		}
		if a := p.State.Adopted[j.ID]; a != nil && a.Given {
			is.Adopted = a.Selection
		}
		a, failed := p.Adoption.attempts[j.ID]
		if !failed {
			a, failed = p.attempts[j.ID]
		}
		if failed && a.err != nil {
			is.Error, is.Kind = printable.Escaped(a.err.Error(), maxError), attach.KindOf(a.err)
		}
		all = append(all, is)
	}
	return all
}
