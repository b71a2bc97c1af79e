package footprint

import (
	"fmt"
	"strings"
	"testing"
)

// The JVM derives the size of its heap from its options, wherever in the pod they are set.
func TestHeapThatThePodShows(t *testing.T) {
	const gi = 1 << 30
	env := func(pairs ...string) (all []Variable) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, Variable{Name: pairs[i], Value: pairs[i+1]})
		}
		return all
	}
	for name, c := range map[string]struct {
		of     Container
		limit  int64
		mib    int64
		by     string
		whole  int64
		pinned bool
	}{
		"by default":                     {of: Container{}, mib: 256},
		"by default in a little memory":  {of: Container{}, limit: 200 << 20, mib: 100},
		"-Xmx of the command":            {of: Container{Command: []string{"java", "-Xmx700m", "-jar", "x"}}, mib: 700, by: "-Xmx700m"},
		"-Xmx in a shell":                {of: Container{Args: []string{`exec java "-Xmx1G" -jar x`}}, mib: 1024, by: "-Xmx1G"},
		"the last one wins":              {of: Container{Command: []string{"java", "-Xmx700m", "-XX:MaxHeapSize=300m"}}, mib: 300, by: "-XX:MaxHeapSize=300m"},
		"the command after a variable":   {of: Container{Command: []string{"java", "-Xmx700m"}, Env: env("JDK_JAVA_OPTIONS", "-Xmx300m")}, mib: 700, by: "-Xmx700m"},
		"a variable after JAVA_TOOL_...": {of: Container{Env: env("JDK_JAVA_OPTIONS", "-Xmx300m", "JAVA_TOOL_OPTIONS", "-Xmx700m")}, mib: 300, by: "-Xmx300m"},
		"the last word":                  {of: Container{Command: []string{"java", "-Xmx700m"}, Env: env("_JAVA_OPTIONS", "-Xmx300m")}, mib: 300, by: "-Xmx300m"},
		"a share":                        {of: Container{Env: env("JAVA_OPTS", "-Dx=1 -XX:MaxRAMPercentage=75.0 -XX:+UseG1GC")}, mib: 768, by: "-XX:MaxRAMPercentage=75.0"},
		"a share with quotes":            {of: Container{Env: env("JAVA_TOOL_OPTIONS", `'-XX:MaxRAMPercentage=75'`)}, mib: 768, by: "-XX:MaxRAMPercentage=75"},
		"an amount beats a share":        {of: Container{Env: env("JAVA_OPTS", "-Xmx300m -XX:MaxRAMPercentage=75")}, mib: 300, by: "-Xmx300m"},
		"a share of MaxRAM":              {of: Container{Env: env("JAVA_OPTS", "-XX:MaxRAM=512m -XX:MaxRAMPercentage=50")}, mib: 256, by: "-XX:MaxRAMPercentage=50", pinned: true},
		"Paketo without head room":       {of: Container{Env: env("BPL_JVM_THREAD_COUNT", "50")}, whole: 1024},
		"Paketo with head room":          {of: Container{Env: env("BPL_JVM_HEAD_ROOM", "10")}, whole: 921},
		"no number":                      {of: Container{Env: env("JAVA_OPTS", "-Xmxm -XX:MaxRAMPercentage=x")}, mib: 256},
		"more than there is":             {of: Container{Args: []string{"-Xmx99999999999999999999t"}}, mib: 1 << 30, by: "-Xmx99999999999999999999t"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.limit == 0 {
				c.limit = gi
			}
			h := optionsOf(c.of).heap(c.limit)
			if h.bytes>>20 != c.mib || h.by != c.by || h.whole>>20 != c.whole || h.pinned != c.pinned {
				t.Errorf("the heap is %d MiB by %q, the whole %d MiB, pinned %v; want %d MiB by %q, %d MiB, %v", h.bytes>>20, h.by, h.whole>>20, h.pinned, c.mib, c.by, c.whole, c.pinned)
			}
		})
	}
}

// If the sum exceeds the limit, there is advice, and a JVM that is set up as advised fits.
func TestTheSumAgainstTheLimit(t *testing.T) {
	const mi = 1 << 20
	command := func(args ...string) Container {
		return Container{Command: append([]string{"java"}, args...), Limit: 1024 * mi, Log: 64 * mi}
	}
	paketo := Container{Env: []Variable{{"BPL_JVM_THREAD_COUNT", "50"}}, Limit: 1024 * mi, Log: 64 * mi}
	for name, c := range map[string]struct {
		of     Container
		limit  int64 // in MiB; zero: the limit of the container
		log    int64 // in MiB; zero: the log of the container
		parts  string
		sum    int64  // in MiB
		advice string // empty: it fits
	}{
		"75 %": {of: command("-XX:MaxRAMPercentage=75"), parts: "heap 768 MiB (-XX:MaxRAMPercentage=75), 64 MiB on the log's tmpfs, and 144 MiB for the rest of the JVM", sum: 976},
		"80 %": {of: command("-XX:MaxRAMPercentage=80"), parts: "heap 820 MiB (-XX:MaxRAMPercentage=80), 64 MiB on the log's tmpfs, and 144 MiB for the rest of the JVM", sum: 1028,
			advice: "raise the limit to 1088Mi, write -XX:MaxRAMPercentage=79 instead of -XX:MaxRAMPercentage=80, or use a smaller buffer"},
		"85 %, for which no limit is high enough": {of: command("-XX:MaxRAMPercentage=85"), limit: 512, parts: "heap 436 MiB (-XX:MaxRAMPercentage=85), 64 MiB on the log's tmpfs, and 68 MiB for the rest of the JVM", sum: 567,
			advice: "write -XX:MaxRAMPercentage=74 instead of -XX:MaxRAMPercentage=85, or use a smaller buffer"},
		"-Xmx": {of: command("-Xmx1000m"), parts: "heap 1000 MiB (-Xmx1000m), 64 MiB on the log's tmpfs, and 144 MiB for the rest of the JVM", sum: 1208,
			advice: "raise the limit to 1241Mi, write -Xmx816m instead of -Xmx1000m, or use a smaller buffer"},
		"the default in a small container": {of: Container{}, limit: 200, log: 64, parts: "heap 100 MiB (by default), 64 MiB on the log's tmpfs, and 64 MiB for the rest of the JVM", sum: 228,
			advice: "raise the limit to 244Mi, write -Xmx71m, or use a smaller buffer"},
		"no room for any heap": {of: command("-Xmx300m"), limit: 100, parts: "heap 300 MiB (-Xmx300m), 64 MiB on the log's tmpfs, and 64 MiB for the rest of the JVM", sum: 428,
			advice: "raise the limit to 429Mi, or use a smaller buffer"},
		"less than a per cent is left": {of: command("-XX:MaxRAMPercentage=50"), log: 950, parts: "heap 512 MiB (-XX:MaxRAMPercentage=50), 950 MiB on the log's tmpfs, and 64 MiB for the rest of the JVM", sum: 1526,
			advice: "raise the limit to 2308Mi, write -Xmx9m instead of -XX:MaxRAMPercentage=50, or use a smaller buffer"},
		"Paketo": {of: paketo, parts: "the JVM 1024 MiB (sized by its image), and 64 MiB on the log's tmpfs", sum: 1088,
			advice: "set BPL_JVM_HEAD_ROOM to at least 7, or use a smaller buffer"},
		"more than there is": {of: command("-Xmx99999999999999999999t"), limit: 1 << 42, sum: 1<<30 + 64 + 161061264, advice: "write -Xmx912680496m instead of -Xmx99999999999999999999t, or use a smaller buffer"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.limit > 0 {
				c.of.Limit = c.limit * mi
			}
			if c.log > 0 {
				c.of.Log = c.log * mi
			}
			e := Of(c.of)
			if e.Exceeds() != (c.advice != "") || inMiB(e.Sum()) != c.sum {
				t.Errorf("exceeds is %v and the sum %d MiB; want %v, %d MiB", e.Exceeds(), inMiB(e.Sum()), c.advice != "", c.sum)
			}
			if parts := e.Parts(); c.parts != "" && parts != c.parts {
				t.Errorf("parts %q\nwant %q", parts, c.parts)
			}
			if advice := e.Advice(""); e.Exceeds() && advice != c.advice {
				t.Errorf("advice %q\nwant %q", advice, c.advice)
			}
		})
	}
}

// A limit that is raised by the size of the log leaves as much room for the JVM as the original limit does without a
// log. The advice offers the raise only if the JVM then fits. The injected pod gives the same sum and the same advice.
func TestARaisedLimitHasTheRoomOfTheLimitBefore(t *testing.T) {
	const mi, raise = 1 << 20, "raise it"
	for _, options := range [][]string{{"-XX:MaxRAMPercentage=50"}, {"-XX:MaxRAMPercentage=84.9"}, {"-XX:MaxRAMPercentage=85"}, {"-XX:MaxRAMPercentage=86"}, {"-Xmx435m"}, {"-Xmx436m"}, {"-XX:MaxRAM=400m", "-XX:MaxRAMPercentage=90"}, nil} {
		for _, limit := range []int64{64 * mi, 200 * mi, 512 * mi, 1000 * mi, 4096 * mi} {
			for _, log := range []int64{16 * mi, 64 * mi, 600 * mi} {
				without := Of(Container{Command: options, Limit: limit}).Exceeds()
				before := Of(Container{Command: options, Limit: limit, Log: log})
				after := before.Raised()
				if after.Exceeds() != without || after.limit != limit+log || after.heap.bytes != before.heap.bytes {
					t.Errorf("%q, a limit of %d MiB and a log of %d MiB: %v exceeds the limit: %v, want %v as without a log", options, limit/mi, log/mi, after, after.Exceeds(), without)
				}
				if offered := strings.HasPrefix(before.Advice(raise), raise); offered == without {
					t.Errorf("%q, a limit of %d MiB and a log of %d MiB: the advice %q offers the raise: %t, want %t", options, limit/mi, log/mi, before.Advice(raise), offered, !without)
				}
				pinned := options
				if before.HeapGrows() {
					pinned = append([]string{fmt.Sprintf("-XX:MaxRAM=%d", limit)}, options...)
				}
				if shown := Of(Container{Command: pinned, Limit: limit + log, Log: log, Raised: true}); shown.String() != after.String() || shown.Advice("") != after.Advice("") {
					t.Errorf("the injected pod shows %v: %s\nwant %v: %s", shown, shown.Advice(""), after, after.Advice(""))
				}
			}
		}
	}
}

// Advice about a raised limit refers to the limit in the manifest, and a JVM that is set up as advised fits.
func TestAdviceAboutARaisedLimit(t *testing.T) {
	const mi = 1 << 20
	for name, c := range map[string]struct {
		of     Container
		advice string
	}{
		"-Xmx":                {Container{Command: []string{"-Xmx900m"}, Limit: 1024 * mi, Log: 64 * mi}, "raise the limit to 1059Mi, or write -Xmx870m instead of -Xmx900m"},
		"90 %":                {Container{Command: []string{"-XX:MaxRAMPercentage=90"}, Limit: 512 * mi, Log: 64 * mi}, "write -XX:MaxRAMPercentage=85 instead of -XX:MaxRAMPercentage=90"},
		"90 % of very little": {Container{Command: []string{"-XX:MinRAMPercentage=90", "-XX:MaxRAMPercentage=90"}, Limit: 64 * mi, Log: 64 * mi}, "raise the limit, and give the heap a smaller share of it"},
		// The image sizes the heap by the raised limit.
		"Paketo": {Container{Env: []Variable{{"BPL_JVM_THREAD_COUNT", "50"}}, Limit: 1024 * mi, Log: 64 * mi}, "set BPL_JVM_HEAD_ROOM to at least 6"},
	} {
		e := Of(c.of).Raised()
		if got := e.Advice(""); !e.Exceeds() || got != c.advice {
			t.Errorf("%s: %v exceeds the limit: %v, advice %q; want true and %q", name, e, e.Exceeds(), got, c.advice)
		}
	}
	head := Container{Env: []Variable{{"BPL_JVM_HEAD_ROOM", "6"}}, Limit: 1024 * mi, Log: 64 * mi}
	if e := Of(head).Raised(); e.Exceeds() {
		t.Errorf("%v does not fit with the advised head room", e)
	}
}
