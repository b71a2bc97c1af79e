package jvm

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/control"
	"github.com/ullage/ullage/internal/jvm/outputs"
	"github.com/ullage/ullage/test/lab"
)

// randomRounds is how often a JVM is raised and restored.
const randomRounds = 200

// After any selection, whether the JVM takes all of it, a part of it or none, the JVM's configuration is
// restored.
func TestLevelsRandomRounds(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := raising(t, jdk)
		jvm := r.listening(place{dir: r.truth}, oddOutputs(r), "Churn", "600000", "0")
		list := jvm.list()
		before, tags := outputsIn(list), tagsIn(t, list)
		r.bystander()
		cfg := outputs.Config{Attach: attach.DefaultConfig()}
		cfg.Source = r.source
		seed := uint64(time.Now().UnixNano())
		random := randomSelections{rand.New(rand.NewPCG(seed, 0)), tags}
		counts, slowest := map[outcome]int{}, time.Duration(0)
		for range randomRounds {
			text := random.selection()
			begun := time.Now()
			counts[r.round(control.NewCommand(cfg), jvm, text, before)]++
			slowest = max(slowest, time.Since(begun))
			if is := jvm.configuration(); is != before {
				t.Fatalf("seed %d: after %s the configuration is\n%swant the same as before\n%s", seed, text, is, before)
			}
		}
		t.Logf("%d rounds %v, the slowest took %s", randomRounds, counts, slowest.Round(time.Millisecond))
		if counts[refused] == 0 || counts[raised] < randomRounds/4 {
			t.Errorf("seed %d: the outcomes are %v, want at least 1 %s and %d %s", seed, counts, refused, randomRounds/4, raised)
		}
	})
}

// outcome is the result of a selection.
type outcome string

const (
	refused outcome = "refused" // the JVM refused at least a part
	raised  outcome = "raised"
	useless outcome = "without effect" // the outputs already have the selection
)

// round raises a JVM to a selection and restores it.
func (r *levelRig) round(m *control.Command, jvm *listened, text, before string) outcome {
	r.Helper()
	became := raised
	selection, err := ask.ParseSelection(text)
	if err != nil {
		r.Fatalf("%s: %v", text, err)
	}
	_, _, setErr := m.Set(r.Context(), ask.Raise{Selection: selection, For: time.Hour})
	is := jvm.configuration()
	switch {
	case setErr != nil && (!strings.Contains(setErr.Error(), "VM.log answered") || is != before):
		r.Fatalf("%s failed (%v), and the configuration is\n%swant the same as before\n%s", text, setErr, is, before)
	case setErr != nil:
		return refused
	case is == before:
		became = useless
	default:
		r.onlyShipped(before, is)
	}
	if _, _, err := m.Reset(r.Context()); err != nil {
		r.Fatalf("restore after %s: %v", text, err)
	}
	return became
}

// tagsIn returns the tags that a JVM knows, as it lists them.
func tagsIn(t *testing.T, list string) []string {
	t.Helper()
	_, tags, _ := strings.Cut(lineWith(t, list, "Available log tags: "), ": ")
	return strings.Split(strings.TrimSpace(tags), ", ")
}

// randomSelections makes random selections from a JVM's tags.
type randomSelections struct {
	*rand.Rand
	tags []string
}

// selection returns 1 to 16 items. Most name one tag, which matches some tag set. Some name a pair of tags,
// which often matches none.
func (r randomSelections) selection() string {
	items := make([]string, 1+r.IntN(16))
	for i := range items {
		tags := r.tags[r.IntN(len(r.tags))]
		switch n := r.IntN(100); {
		case n < 1:
			if other := r.tags[r.IntN(len(r.tags))]; other != tags {
				tags += "+" + other
			}
		case n < 2: // often, no tag set consists of that tag alone
		case n < 6:
			tags = "all"
		default:
			tags += "*"
		}
		level := []string{"trace", "debug", "info", "warning", "error"}[r.IntN(5)]
		items[i] = fmt.Sprintf("%s=%s", tags, level)
	}
	return strings.Join(items, ",")
}
