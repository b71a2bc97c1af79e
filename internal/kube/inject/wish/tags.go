package wish

import (
	"fmt"
	"slices"
	"strings"
)

// The log tags of HotSpot, as `java -Xlog:help` of 11.0.13, 17.0.15 and 25.0.3 lists them. A
// JVM with an unknown tag exits before it runs anything.
const (
	tagsOfAll = `
		add age alloc annotation arguments attach barrier blocks bot breakpoint bytecode cds census class classhisto cleanup
		codecache compaction compilation constantpool constraints container coops cpu cset data datacreation dcmd decoder
		defaultmethods director dump ergo event exceptions exit fingerprint free freelist gc handshake hashtables heap
		humongous ihop iklass init inlining interpreter itables jfr jit jni jvmti liveness load loader logging malloc mark
		marking membername memops metadata metaspace methodcomparator mirror mmu module monitorinflation monitormismatch
		nestmates nmethod normalize objecttagging obsolete oldobject oom oopmap oops oopstorage os pagesize parser patch
		path perf phases plab preorder preview promotion purge redefine ref refine region reloc remset resolve safepoint
		sampling scavenge setting smr stackmap stacktrace stackwalk start startuptime state stats stringdedup stringtable
		subclass survivor sweep system table task thread timer tlab tracking unload unshareable update verification verify
		vmoperation vmthread vtables vtablestubs`
	tagsFrom17 = "condy dynamic indy install jvmci lambda library map methodhandles nmt numa owner periodic placeholders ptrqueue record sealed stackbarrier startup streaming suspend symboltable throttle trimnative valuebasedclasses vmmutex"
	tagsOf17   = "biasedlocking protectiondomain time workgang"
	tagsOf25   = "aot array cause continuations deoptimization dependencies fastlock finalizer heapdump inlinecache jmethod link methodtrace monitortable native page preempt stubs training unmap"
)

// checkTag returns an error if no JVM knows the tag, or a warning if some JVMs do not.
func checkTag(tag string) (warning string, err error) {
	switch {
	case slices.Contains(strings.Fields(tagsFrom17), tag):
		return fmt.Sprintf("JDK 11 has no log tag %q and does not start with it", tag), nil
	case slices.Contains(strings.Fields(tagsOfAll), tag):
		return "", nil
	case slices.Contains(strings.Fields(tagsOf17), tag):
		return fmt.Sprintf("JDK 25 has no log tag %q and does not start with it", tag), nil
	case slices.Contains(strings.Fields(tagsOf25), tag):
		return fmt.Sprintf("JDK 17 has no log tag %q and does not start with it", tag), nil
	}
	return "", fmt.Errorf("%q is not a log tag of JDK 11 to 25, and a JVM does not start with an unknown tag: 'java -Xlog:help' lists all tags", tag)
}
