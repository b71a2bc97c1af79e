package pause

import (
	"bytes"
	"strings"
)

// Other replaces a name that is not in the lists of this package, and None a missing name.
const (
	Other = "other"
	None  = "none"
)

// Collector is the name of one of HotSpot's collectors in this package, or "" if the log has
// not shown the collector yet. The names are suitable as metric labels.
type Collector string

// The collectors.
const (
	Serial        Collector = "Serial"
	Parallel      Collector = "Parallel"
	G1            Collector = "G1"
	CMS           Collector = "CMS"
	Shenandoah    Collector = "Shenandoah"
	Z             Collector = "ZGC"              // without generations
	GenerationalZ Collector = "ZGC generational" // since JDK 21; the only ZGC since JDK 24
	Epsilon       Collector = "Epsilon"
)

// using has the collectors by the text after "Using " that a JVM logs at its start.
var using = map[string]Collector{
	"Serial": Serial, "Parallel": Parallel, "G1": G1, "Concurrent Mark Sweep": CMS, "Shenandoah": Shenandoah,
	"The Z Garbage Collector": Z, "Epsilon": Epsilon,
}

// actions are the lower-case names of pauses and concurrent phases, up to the first bracket. If
// the name of a young pause is followed by a group in brackets that is also an action, the group
// is the pause's action, because it is more precise.
var actions = index("young", "full", "remark", "cleanup", "initial mark", "mixed",
	"concurrent start", "prepare mixed",
	"mark start", "mark end", "relocate start",
	"init mark", "final mark", "init update refs", "final update refs", "final roots", "final evac", "init evac",
	"verify init mark", "degenerated gc",
	// Concurrent phases.
	"mark cycle", "undo cycle", "cycle", "clear claimed marks", "scan root regions", "mark", "mark from roots",
	"preclean", "abortable preclean", "rebuild remembered sets", "rebuild remembered sets and scrub regions",
	"cleanup for next mark", "sweep", "reset", "create live data", "complete cleanup", "string deduplication",
	"mark free", "mark continue", "mark roots", "mark follow", "process non-strong references", "process non-strong", "reset relocation set",
	"select relocation set", "relocate", "remap roots", "prepare relocation set", "relocate remset", "relocate remset fp", "remap roots colored", "remap roots uncolored",
	"references processing", "weak roots", "weak references", "class unloading", "strong roots", "marking", "marking roots",
	"remembered set scanning", "evacuation", "update references", "update refs", "update thread roots", "reset after collect",
	"reset old", "coalescing and filling", "thread roots", "precleaning", "stack processing", "destroy unused monitors", "roots", "uncommit",
	// Cycles.
	"garbage collection", "major collection", "minor collection", "young generation", "old generation", "global gc", "concurrent cycle")

// causes are HotSpot's GC causes, from gcCause.cpp of JDK 9 to 25, in their logged form.
var causes = index("System.gc()", "FullGCAlot", "ScavengeAlot", "Allocation Profiler", "JvmtiEnv ForceGarbageCollection",
	"GCLocker Initiated GC", "Heap Inspection Initiated GC", "Heap Dump Initiated GC", "WhiteBox Initiated Young GC",
	"WhiteBox Initiated Concurrent Mark", "WhiteBox Initiated Run to Breakpoint", "WhiteBox Initiated Full GC",
	"Update Allocation Context Stats", "No GC", "Allocation Failure", "Tenured Generation Full", "Codecache GC Threshold",
	"CodeCache GC Threshold", "CodeCache GC Aggressive", "Metadata GC Threshold", "Metadata GC Clear Soft References",
	"CMS Generation Full", "CMS Initial Mark", "CMS Final Remark", "CMS Concurrent Mark",
	"Old Generation Expanded On Last Scavenge", "Old Generation Too Full To Scavenge", "Ergonomics",
	"G1 Evacuation Pause", "G1 Humongous Allocation", "G1 Periodic Collection", "G1 Preventive Collection", "G1 Compaction Pause",
	"Last ditch collection", "Diagnostic Command", "Timer", "Allocation Rate", "Allocation Stall", "Warmup", "Proactive", "Preventive", "High Usage",
	"Allocation Failure Evac", "Allocation Failure Stop-The-World", "Stopping VM", "Concurrent GC", "Upgrade To Full GC")

// operations are VM operations that a JVM runs at safepoints in production, from
// vmOperation.hpp of JDK 9 to 25.
var operations = index("Cleanup", "no vm operation", "None", "Halt", "Exit", "ThreadDump", "PrintThreads", "FindDeadlocks", "ThreadStop", "ForceSafepoint",
	"ForceAsyncSafepoint", "ICBufferFull", "Deoptimize", "DeoptimizeFrame", "DeoptimizeAll", "DeoptimizeTheWorld", "EnableBiasedLocking", "BulkRevokeBias", "RevokeBias",
	"HandshakeAllThreads", "HandshakeOneThread", "Handshake", "HandshakeFallback", "CollectForMetadataAllocation", "CollectForCodeCacheAllocation",
	"HeapDumper", "GC_HeapInspection", "GenCollectFull", "GenCollectFullConcurrent", "GenCollectForAllocation", "SerialCollectForAllocation", "SerialGCCollect",
	"ParallelGCFailedAllocation", "ParallelGCSystemGC", "ParallelCollectForAllocation", "ParallelGCCollect",
	"CMS_Initial_Mark", "CMS_Final_Remark", "CGC_Operation",
	"G1CollectForAllocation", "G1CollectFull", "G1Concurrent", "G1TryInitiateConcMark", "G1PauseRemark", "G1PauseCleanup", "G1RendezvousGCThreads",
	"ZOperation", "ZMarkStart", "ZMarkEnd", "ZRelocateStart", "ZVerify", "ZMarkStartYoung", "ZMarkStartYoungAndOld", "ZMarkEndYoung", "ZMarkEndOld",
	"ZRelocateStartYoung", "ZRelocateStartOld", "ZRendezvousGCThreads",
	"XMarkStart", "XMarkEnd", "XRelocateStart", "XVerify",
	"ShenandoahFullGC", "ShenandoahInitMark", "ShenandoahFinalMarkStartEvac", "ShenandoahInitUpdateRefs", "ShenandoahFinalUpdateRefs",
	"ShenandoahFinalRoots", "ShenandoahFinalVerify", "ShenandoahDegeneratedGC", "ShenandoahOperation", "ShenandoahReferenceOperation",
	"RedefineClasses", "UpdateForPopTopFrame", "SetFramePop", "GetObjectMonitorUsage", "GetAllStackTraces", "GetThreadListStackTraces", "GetStackTrace",
	"HeapIterateOperation", "HeapWalkOperation", "ReportJavaOutOfMemory", "JFRCheckpoint", "JFROldObject", "JFRSafepointClear", "JFRSafepointWrite", "JFRInitializeCPUTimeSampler", "JFRTerminateCPUTimeSampler",
	"ClassLoaderStatsOperation", "ClassLoaderHierarchyOperation", "DumpHashtable", "DumpTouchedMethods", "PrintCompileQueue", "PrintClassHierarchy", "PrintMetadata",
	"PrintCodeList", "PrintCodeCache", "PrintClasses", "CleanClassLoaderDataMetaspaces", "RendezvousGCThreads", "JvmtiPostObjectFree", "ChangeBreakpoints",
	"ChangeSingleStep", "EnterInterpOnlyMode", "LinuxDllLoad", "RotateGCLog", "ReinitializeMDO", "PopulateDumpSharedSpace", "PopulateDynamicDumpSharedSpace", "WhiteBoxOperation",
	"UnlinkSymbols", "ICacheFlush", "GTestExecuteAtSafepoint", "TestingAsyncDeoptimize", "CollectForAllocation", "Verify")

func index(names ...string) map[string]string {
	m := make(map[string]string, len(names))
	for _, name := range names {
		m[name] = name
	}
	return m
}

// Action returns what the collector did in a Pause, Concurrent, Begin or Cycle: a name from a
// fixed list, in lower case and without the cause, or [Other]. For a young pause of G1 that is
// not "Normal", it is the kind of the pause: "concurrent start", "prepare mixed" or "mixed".
// For other kinds of events, Action returns [None]. It allocates nothing.
func (e *Event) Action() string {
	switch e.Kind {
	case Pause, Concurrent, Begin, Cycle:
		return actionOf(e.Name)
	}
	return None
}

func actionOf(name []byte) string {
	head, groups := nameParts(name)
	action := lookup(actions, head)
	if action == "initial mark" && bytes.HasPrefix(groups, []byte("(G1 ")) {
		return "concurrent start" // initial mark is its name in JDK 9 and 10
	}
	if action != "young" {
		return action
	}
	if group, _ := nextGroup(groups); len(group) > 0 {
		if a := lookup(actions, group); a == "mixed" || a == "concurrent start" || a == "prepare mixed" {
			return a
		}
	}
	return action
}

// Cause returns the cause of a Pause, Concurrent, Begin or Cycle: one of HotSpot's causes,
// [None] if the line has no cause, or [Other]. It allocates nothing.
func (e *Event) Cause() string {
	switch e.Kind {
	case Pause, Concurrent, Begin, Cycle:
		return causeOf(e.Name)
	}
	return None
}

func causeOf(name []byte) string {
	cause := None
	_, groups := nameParts(name)
	for len(groups) > 0 {
		var group []byte
		group, groups = nextGroup(groups)
		if name, ok := causes[string(group)]; ok {
			return name
		}
		if !isDetail(group) {
			cause = Other
		}
	}
	return cause
}

// Operation returns the operation of a Safepoint or Enter: one of HotSpot's, [None] if
// the line has none, or [Other]. It allocates nothing.
func (e *Event) Operation() string {
	switch e.Kind {
	case Safepoint, Enter:
		return operationOf(e.Name)
	}
	return None
}

func operationOf(name []byte) string {
	if len(name) == 0 {
		return None
	}
	if known, ok := operations[string(name)]; ok {
		return known
	}
	return Other
}

// name is an interned name from the log. Once maxInterned names are held, text is [Other] for any new name.
// action and cause are valid only for the name of a collection, and operation only for the name
// of a VM operation.
type name struct{ text, action, cause, operation string }

// name returns the name with the text.
func (j *Joiner) name(text []byte) *name {
	if n, ok := j.names[string(text)]; ok {
		return n
	}
	n := &name{text: Other, action: actionOf(text), cause: causeOf(text), operation: operationOf(text)}
	if len(j.names) < maxInterned {
		n.text = strings.ToValidUTF8(string(text), "\uFFFD")
		j.names[string(text)] = n
	}
	return n
}

// details are groups in brackets that are not a cause.
var details = index("Normal", "Concurrent Start", "Prepare Mixed", "Mixed", "Major", "Minor", "Young", "Old", "Global", "unload classes", "Major Young", "Promote All",
	"Major Collection", "Young Generation", "Old Generation",
	// The points at which a collection of Shenandoah degenerated.
	"Outside of Cycle", "Roots", "Mark", "Evacuation", "Update Refs", "Update References")

func isDetail(group []byte) bool {
	_, ok := details[string(group)]
	return ok || bytes.HasPrefix(group, []byte("Evacuation Failure")) || bytes.HasPrefix(group, []byte("process "))
}

// lookup finds the name in m by its lower-case form.
func lookup(m map[string]string, name []byte) string {
	var buffer [48]byte
	if len(name) == 0 || len(name) > len(buffer) {
		return Other
	}
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		buffer[i] = c
	}
	if found, ok := m[string(buffer[:len(name)])]; ok {
		return found
	}
	return Other
}

// nameParts splits a name into its words and its groups in brackets.
func nameParts(name []byte) (head, groups []byte) {
	if i := bytes.Index(name, []byte(" (")); i >= 0 {
		return name[:i], name[i+1:]
	}
	return name, nil
}

// nextGroup returns the text in the first brackets of groups, and the text after them. A group
// may itself have brackets: "(System.gc())".
func nextGroup(groups []byte) (group, rest []byte) {
	depth := 0
	for i, c := range groups {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth <= 0 {
				return groups[min(1, i):i], bytes.TrimPrefix(groups[i+1:], []byte(" "))
			}
		}
	}
	return nil, nil
}
