package footprint

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The defaults of HotSpot: the heap is a quarter of the memory, or half of the memory if that half
// is less than smallHeap.
const (
	defaultPercent      = 25
	defaultSmallPercent = 50
	smallHeap           = 124_800 << 10 // 96 MiB, multiplied by 1.3 for words of 64 bits
)

// huge is more than any memory, and sums of it do not overflow. It replaces larger amounts.
const huge = 1 << 50

// maxShare is the beginning of the option for the heap's share of the memory.
const maxShare = "-XX:MaxRAMPercentage="

// headRoom is the variable that makes an image of Paketo leave memory free.
const headRoom = "BPL_JVM_HEAD_ROOM"

// heap is the maximum heap of a JVM according to the options that the pod shows.
type heap struct {
	bytes   int64
	by      string // the option that decides, as written; empty: the default
	bounded bool   // an option sets an amount, so a larger limit does not change the heap
	pinned  bool   // -XX:MaxRAM is given
	memory  int64  // the memory that MaxRAMPercentage refers to
	whole   int64  // the memory of the whole JVM, if the image sizes the heap to fit it; 0: it does not
}

// sizing matches the options about the heap in a text, with or without shell quotes around them.
var sizing = regexp.MustCompile(`(-Xmx|-XX:MaxHeapSize=|-XX:MaxRAM=)(\d+)([kKmMgGtT]?)|(-XX:MaxRAMPercentage=|-XX:MinRAMPercentage=)(\d+(?:\.\d+)?)`)

// options are the options about the heap that a pod shows for a container.
type options struct {
	given   map[string][]string // the matches of sizing, by option
	most    []string            // the last option for an amount, which takes effect; nil: no option gives one
	reckons bool                // an image of Paketo sizes the heap ...
	room    int64               // ... and leaves this percentage of the memory free
}

// optionsOf reads the options of the JVM in c. If an option is given more than once, the last one
// takes effect, in the order in which a JVM reads them. Options in the image, in a file, or in a
// variable without a visible value are not included.
func optionsOf(c Container) options {
	o := options{given: map[string][]string{}}
	for _, text := range c.texts() {
		for _, found := range sizing.FindAllStringSubmatch(text, -1) {
			name := found[1] + found[4]
			o.given[name] = found
			if name == "-Xmx" || name == "-XX:MaxHeapSize=" {
				o.most = found
			}
		}
	}
	for _, v := range c.Env {
		o.reckons = o.reckons || strings.HasPrefix(v.Name, "BPL_JVM_")
		if v.Name == headRoom {
			room, _ := strconv.Atoi(v.Value) // 0 if it is not a number; the image treats it the same way
			o.room = int64(min(max(room, 0), 100))
		}
	}
	return o
}

// unpin forgets that the injector has set -XX:MaxRAM to the limit in the manifest: with another limit
// there, the injector would set another value.
func (o options) unpin(written int64) {
	if pin := o.given["-XX:MaxRAM="]; pin != nil && amountIn(pin) == written {
		delete(o.given, "-XX:MaxRAM=")
	}
}

// heap returns the heap of a JVM whose memory limit is limit bytes.
func (o options) heap(limit int64) heap {
	h := heap{memory: limit, pinned: o.given["-XX:MaxRAM="] != nil}
	if h.pinned {
		h.memory = min(h.memory, amountIn(o.given["-XX:MaxRAM="]))
	}
	if o.most != nil {
		h.bytes, h.by, h.bounded = amountIn(o.most), o.most[0], true
		return h
	}
	if o.reckons {
		h.whole = h.memory * (100 - o.room) / 100
		return h
	}
	share, by := o.percent(maxShare, defaultPercent)
	if small, smallBy := o.percent("-XX:MinRAMPercentage=", defaultSmallPercent); float64(h.memory)*small/100 < smallHeap {
		share, by = small, smallBy
	}
	h.bytes, h.by = int64(float64(h.memory)*share/100), by
	return h
}

// percent returns the value of an option for a share, and the option as written.
func (o options) percent(name string, byDefault float64) (share float64, by string) {
	found := o.given[name]
	if found == nil {
		return byDefault, ""
	}
	p, err := strconv.ParseFloat(found[5], 64)
	if err != nil {
		return byDefault, ""
	}
	return min(p, 100), found[0]
}

// texts returns the texts that may contain the options of c's JVMs, in the order in which a JVM
// reads them.
func (c Container) texts() []string {
	const last = "_JAVA_OPTIONS"
	first := []string{"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"}
	env := slices.Clone(c.Env)
	slices.SortStableFunc(env, func(a, b Variable) int {
		return cmp.Compare(uint(slices.Index(first, a.Name)), uint(slices.Index(first, b.Name))) // other variables come last
	})
	var texts, after []string
	for _, v := range env {
		if v.Name == last {
			after = append(after, v.Value)
			continue
		}
		texts = append(texts, v.Value)
	}
	return slices.Concat(texts, c.Command, c.Args, after)
}

// amountIn returns the bytes of an option such as -Xmx1g, given its match of sizing.
func amountIn(found []string) int64 {
	unit := uint(0)
	if found[3] != "" {
		unit = 10 * uint(1+strings.Index("kmgt", strings.ToLower(found[3])))
	}
	n, err := strconv.ParseInt(found[2], 10, 64)
	if err != nil || n > huge>>unit {
		return huge
	}
	return n << unit
}
