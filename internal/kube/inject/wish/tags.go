package wish

import (
	"fmt"
	"slices"
	"strings"
)

// The log tags of HotSpot, as `java -Xlog:help` of 17.0.15 and 25.0.3 lists
// them. A JVM that is told one it does not know exits before it runs anything.
const (
	tagsOfAll = `
		add age alloc annotation arguments attach barrier blocks bot breakpoint bytecode cds census class classhisto cleanup
		codecache compaction compilation condy constantpool constraints container coops cpu cset data datacreation dcmd
		decoder defaultmethods director dump dynamic ergo event exceptions exit fingerprint free freelist gc handshake
		hashtables heap humongous ihop iklass indy init inlining install interpreter itables jfr jit jni jvmci jvmti lambda
		library liveness load loader logging malloc map mark marking membername memops metadata metaspace methodcomparator
		methodhandles mirror mmu module monitorinflation monitormismatch nestmates nmethod nmt normalize numa objecttagging
		obsolete oldobject oom oopmap oops oopstorage os owner pagesize parser patch path perf periodic phases plab
		placeholders preorder preview promotion ptrqueue purge record redefine ref refine region reloc remset resolve
		safepoint sampling scavenge sealed setting smr stackbarrier stackmap stacktrace stackwalk start startup startuptime
		state stats streaming stringdedup stringtable subclass survivor suspend sweep symboltable system table task thread
		throttle timer tlab tracking trimnative unload unshareable update valuebasedclasses verification verify vmmutex
		vmoperation vmthread vtables vtablestubs`
	tagsOf17 = "biasedlocking protectiondomain time workgang"
	tagsOf25 = "aot array cause continuations deoptimization dependencies fastlock finalizer heapdump inlinecache jmethod link methodtrace monitortable native page preempt stubs training unmap"
)

// checkTag says that no JVM knows the tag, or warns that not all of them do.
func checkTag(tag string) (warning string, err error) {
	switch {
	case slices.Contains(strings.Fields(tagsOfAll), tag):
		return "", nil
	case slices.Contains(strings.Fields(tagsOf17), tag):
		return fmt.Sprintf("JDK 25 has no log tag %q and does not start with it", tag), nil
	case slices.Contains(strings.Fields(tagsOf25), tag):
		return fmt.Sprintf("JDK 17 has no log tag %q and does not start with it", tag), nil
	}
	return "", fmt.Errorf("%q is not a log tag of JDK 17 to 25, and a JVM does not start with an unknown tag: 'java -Xlog:help' lists all tags", tag)
}
