package plan

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/inject/pod"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// What HotSpot does without options: the heap is a quarter of the memory, and half of it where that
// is less than smallHeap.
const (
	defaultPercent      = 25
	defaultSmallPercent = 50
	smallHeap           = 124_800 << 10 // 96 MiB, times 1.3 for a word of 64 bits
)

// reserve is the estimated memory that a JVM needs beyond its heap: classes, compiled code,
// threads, the collector. It is 15 % of the container's memory, and at least leastReserve.
const (
	reservePercent = 15
	leastReserve   = 64 << 20
)

// heap is the largest heap of a JVM by the options that the pod shows.
type heap struct {
	bytes   int64
	by      string // the option that decides, as it is written; empty: the default
	bounded bool   // by an amount, which a larger limit does not change
	pinned  bool   // -XX:MaxRAM is given
	whole   int64  // of the memory, if a program reckons the heap so that everything takes so much; 0: none does
}

// sizing are the options about the heap in a text, with quotes of a shell around or not.
var sizing = regexp.MustCompile(`(-Xmx|-XX:MaxHeapSize=|-XX:MaxRAM=)(\d+)([kKmMgGtT]?)|(-XX:MaxRAMPercentage=|-XX:MinRAMPercentage=)(\d+(?:\.\d+)?)`)

// headRoom is the variable by which an image of Paketo leaves memory free.
const headRoom = "BPL_JVM_HEAD_ROOM"

// heapOf reads the options of the JVM in c and returns its heap where it may take limit bytes. If
// an option is given more than once, the last one wins, in the order in which a JVM reads them.
// Options in the image, in a file or in a variable without a visible value are not included.
func heapOf(c *corev1.Container, limit int64) heap {
	given := map[string][]string{} // what sizing has found, by option
	var most []string
	for _, text := range optionTexts(c) {
		for _, found := range sizing.FindAllStringSubmatch(text, -1) {
			name := found[1] + found[4]
			given[name] = found
			if name == "-Xmx" || name == "-XX:MaxHeapSize=" {
				most = found
			}
		}
	}
	memory := limit
	h := heap{pinned: given["-XX:MaxRAM="] != nil}
	if h.pinned {
		memory = min(memory, amountIn(given["-XX:MaxRAM="]))
	}
	if most != nil {
		h.bytes, h.by, h.bounded = amountIn(most), most[0], true
		return h
	}
	if i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return strings.HasPrefix(e.Name, "BPL_JVM_") }); i >= 0 {
		room := 0
		if i := pod.LastEnv(c, headRoom); i >= 0 {
			room, _ = strconv.Atoi(c.Env[i].Value) // or it is 0, as for the image
		}
		h.whole = min(memory, int64(wish.AsGoodAsNone)) * int64(100-min(max(room, 0), 100)) / 100
		return h
	}
	percent := func(name string, byDefault float64) (float64, string) {
		found := given[name]
		if found == nil {
			return byDefault, ""
		}
		p, err := strconv.ParseFloat(found[5], 64)
		if err != nil {
			return byDefault, ""
		}
		return min(p, 100), found[0]
	}
	share, by := percent("-XX:MaxRAMPercentage=", defaultPercent)
	if small, smallBy := percent("-XX:MinRAMPercentage=", defaultSmallPercent); float64(memory)*small/100 < smallHeap {
		share, by = small, smallBy
	}
	h.bytes, h.by = int64(float64(memory)*share/100), by
	return h
}

// optionTexts returns where the options of c's JVMs may be, in the order in which a JVM reads them.
func optionTexts(c *corev1.Container) []string {
	const last = "_JAVA_OPTIONS"
	rank := func(e corev1.EnvVar) int {
		return slices.Index([]string{wish.ToolVariable, wish.LauncherVariable}, e.Name)
	}
	env := slices.Clone(c.Env)
	slices.SortStableFunc(env, func(a, b corev1.EnvVar) int {
		return cmp.Compare(uint(rank(a)), uint(rank(b))) // none of both: last
	})
	var texts, after []string
	for _, e := range env {
		if e.Name == last {
			after = append(after, e.Value)
			continue
		}
		texts = append(texts, e.Value)
	}
	return slices.Concat(texts, c.Command, c.Args, after)
}

// amountIn returns the bytes of an option such as -Xmx1g, as sizing has found it.
func amountIn(found []string) int64 {
	unit := uint(0)
	if found[3] != "" {
		unit = 10 * uint(1+strings.Index("kmgt", strings.ToLower(found[3])))
	}
	n, err := strconv.ParseInt(found[2], 10, 64)
	if most := int64(wish.AsGoodAsNone) >> unit; err != nil || n > most {
		return int64(wish.AsGoodAsNone)
	}
	return n << unit
}

// reserveOf returns what a JVM needs beyond its heap if it has this much memory.
func reserveOf(limit int64) int64 { return max(leastReserve, limit/100*reservePercent) }

func inMiB(bytes int64) int64 { return (bytes + 1<<20 - 1) >> 20 }

// planMemory compares what the JVM of a container may take with the container's limit: the kernel
// kills a container over its limit, and the log on the tmpfs counts towards it. It returns whether
// the limit is raised, and whether the heap must then be kept at its size.
func planMemory(c *pod.Container, w *wish.Wishes, n *notes) (raised, pin bool) {
	limit := c.MemoryLimit
	if limit == 0 {
		return false, false
	}
	log, h, fixed := int64(w.Tmpfs()), heapOf(c.Container, limit), fixedLimit(c)
	if w.Raise && fixed == "" {
		return true, !h.pinned && !h.bounded
	}
	advice := "raise the limit, lower the heap, or use a smaller buffer"
	if fixed == "" {
		advice = fmt.Sprintf("set %s%s: \"true\", raise the limit, lower the heap, or use a smaller buffer", ask.Prefix, wish.RaiseMemoryLimit)
	}
	need := h.bytes + log + reserveOf(limit)
	switch {
	case w.Raise:
		n.warn("the memory limit of container %.80q is not raised: %s", c.Name, fixed)
	case h.whole > 0 && h.whole+log > limit:
		n.warn("%s and counts as memory of container %.80q, and its image sizes the heap so that the JVM takes %d of %d MiB: set %s to at least %d, or %s",
			tmpfsText(w), c.Name, inMiB(h.whole), inMiB(limit), headRoom, (log*100+limit-1)/limit, advice)
	case h.whole == 0 && need >= limit:
		n.warn("container %.80q may take more than its memory limit of %d MiB, and be killed: heap %d MiB (%s), %d MiB on the log's tmpfs, and %d MiB that a JVM needs besides: %s",
			c.Name, limit>>20, inMiB(h.bytes), cmp.Or(h.by, "by default"), inMiB(log), inMiB(reserveOf(limit)), advice)
	case log > limit/4: // the heap fits, by what the pod shows
		n.warn("%s and counts as memory of container %.80q, whose limit is %d MiB: raise the limit, or use a smaller buffer", tmpfsText(w), c.Name, limit>>20)
	}
	return false, false
}

// tmpfsText says what of the tmpfs counts as memory of a container.
func tmpfsText(w *wish.Wishes) string {
	text := fmt.Sprintf("%s%s is %s", ask.Prefix, wish.Buffer, w.Buffer)
	if w.Events > 0 {
		text += fmt.Sprintf(", with %s%s %s,", ask.Prefix, wish.Events, w.Tmpfs())
	}
	return text
}

// fixedLimit says why the memory limit of a container must not be raised. Empty: it may.
func fixedLimit(c *pod.Container) string {
	switch {
	case c.Pod.HasWhole():
		return "the pod has resources as a whole, which bound its containers: raise those by the size of the tmpfs"
	case !pod.IsLimited(c.Container, corev1.ResourceMemory):
		return "it has none of its own"
	}
	return ""
}

// raiseLimit raises the limit of a container by the size of the tmpfs. A request that is the limit is
// raised as well: without a request the limit is one, and a pod of QoS class Guaranteed stays one.
func raiseLimit(c *pod.Container, w *wish.Wishes) Memory {
	limit := c.Resources.Limits[corev1.ResourceMemory]
	request, ok := c.Resources.Requests[corev1.ResourceMemory]
	more := wish.Plus(limit, w.Tmpfs())
	return Memory{Limit: more.String(), Request: ok && request.Cmp(limit) == 0}
}
