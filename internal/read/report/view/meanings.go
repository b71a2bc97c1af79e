package view

// meanings explains the figures of a report by name. The tiles and the columns of the tables show the explanation
// when the pointer rests on the name.
var meanings = map[string]string{
	// The tiles of a report, and the columns and rows with the same figures.
	"throughput":                "The share of the time in the log in which the application was not stopped.",
	"stopped":                   "The sum of all stops.",
	"stops":                     "How often all threads of the application were stopped: by safepoints, or by pauses of the collector where the log has no safepoints.",
	"longest stop":              "The longest time for which all threads were stopped.",
	"worst minute":              "The most time stopped within any 60 s.",
	"heap after GC":             "The heap in use after the last collection.",
	"allocation rate":           "How much memory the application allocates per second.",
	"promotion rate":            "By how much the old generation grows per second, in young collections.",
	"full collections":          "Collections of the whole heap in one stop, a collector's last resort.",
	"evacuation failures":       "Collections whose objects found no room to move to.",
	"with humongous objects":    "Collections with objects of half a region or more, which G1 keeps in regions of their own.",
	"degenerated":               "Collections of Shenandoah that stopped the application because memory ran out before they ended.",
	"allocation stalls":         "Waits of one thread for memory, which ZGC had not freed yet.",
	"failed allocations":        "Threads that got no memory from Shenandoah.",
	"crashes":                   "Crash reports (hs_err) that were found with the log.",
	"time stopped":              "The share of the time in the log in which the application was stopped.",
	"stop, p50":                 "The duration that half of the stops do not exceed.",
	"stop, p99":                 "The duration that 99 % of the stops do not exceed.",
	"longest time to safepoint": "The longest time that threads needed to stop after the JVM asked them to.",
	"full collections an hour":  "Collections of the whole heap in one stop, divided by the hours in the log.",
	"suspected stalls an hour":  "Stops that look longer than their own work explains, divided by the hours in the log.",

	// Distributions.
	"cause":       "Why the application was stopped, in the words of the JVM.",
	"phase":       "A part of a pause or of a concurrent cycle, in the words of the JVM.",
	"in":          "Whether the phase is part of a pause or ran while the application did.",
	"duration of": "What was measured.",
	"n":           "How many durations were measured.",
	"p50":         "The duration that half of the measured durations do not exceed.",
	"p90":         "The duration that 90 % of the measured durations do not exceed.",
	"p99":         "The duration that 99 % of the measured durations do not exceed.",
	"p99.9":       "The duration that 99.9 % of the measured durations do not exceed.",
	"p99.99":      "The duration that 99.99 % of the measured durations do not exceed.",
	"p99.999":     "The duration that 99.999 % of the measured durations do not exceed.",
	"max":         "The longest duration.",
	"sum":         "All durations together.",

	// Single stops.
	"length":                             "The time for which all threads were stopped.",
	"begin":                              "When the stop began, by the clock of the log.",
	"cause and lines":                    "Why the application was stopped, and the lines of the log that show it.",
	"what is suspected, cause and lines": "Why the stop looks longer than its own work, what the stop was for, and the lines of the log around it.",
	"to safepoint":                       "The part of the stop before the last thread had stopped.",
	"user":                               "CPU time that the collection used outside the kernel, over all its threads.",
	"sys":                                "CPU time that the collection used in the kernel, over all its threads.",
	"real":                               "The duration of the collection by the clock.",

	// Runs of JVMs.
	"stream":    "The name under which the log is kept.",
	"run":       "Which start of a JVM this is, counted from the beginning of the log.",
	"collector": "The garbage collector, the version of the JVM, its flags and its settings.",
	"span":      "The time from the first to the last line of the run.",
	"allocated": "How much memory the application allocated per second.",
	"promoted":  "By how much the old generation grew per second, in young collections.",
	"trend":     "By how much the heap after collections grew per hour.",
	"metaspace": "The metaspace in use after the last collection that shows it.",

	// Volume of the log.
	"level": "The level of the lines.",
	"tags":  "The tags of the lines.",
	"lines": "How many lines of the log have this level or these tags.",
	"bytes": "The size of these lines, uncompressed.",
	"share": "The size of these lines, relative to the largest row of the table.",

	// Comparisons.
	"figure":        "What is compared.",
	"A":             "The value of A.",
	"B":             "The value of B.",
	"change":        "By how much B differs from A, as a share of A.",
	"difference":    "The median of the differences between each log of B and each log of A.",
	"from":          "The lower end of the interval of the difference.",
	"to":            "The upper end of the interval of the difference.",
	"beyond chance": "Whether the interval of the difference excludes zero.",
	"over all logs": "Which value of each figure over all logs: the lowest, a quartile, the median or the highest.",
	"log":           "The name of the log. The logs that differ most from their group come first.",
}
