package pause

import (
	"strconv"
	"strings"
)

// begin notices that the JVM of a stream is another one: its uptime falls back, its
// numbers of collections begin again, or it logs its start.
func (j *Joiner) begin(e *Event) {
	restarted := false
	if j.clock.HasUptime {
		known := j.runs.Number() > 0
		restarted = j.runs.Next(j.clock.Uptime) && known
	} else if e.GC >= 0 {
		restarted = e.GC == 0 && j.newest > maxOpen || e.GC+1000 < j.newest
	}
	if isStart := e.Kind == Init && string(e.Name) == "Using"; restarted || isStart && j.announced {
		j.Flush()
		j.run = Run{Number: j.run.Number + 1}
		j.announced, j.newest, j.after, j.unpaired, j.entered = false, -1, -1, 0, ""
	}
	j.newest = max(j.newest, e.GC)
}

// takeInit notes a property of the JVM.
func (j *Joiner) takeInit(e *Event) {
	value := string(e.Value)
	switch string(e.Name) {
	case "Using":
		j.run.Started = true
		j.setCollector(using[value])
		return
	case "Version":
		j.run.Version = value
	case "Heap Region Size":
		j.run.RegionSize = parseSize(value)
	case "Parallel Workers", "GC Workers", "GC Workers Max":
		number, _, _ := strings.Cut(value, " ")
		j.run.Workers, _ = strconv.Atoi(number)
	}
	if len(j.run.Settings) < maxSettings {
		j.run.Settings = append(j.run.Settings, Setting{Name: string(e.Name), Value: value})
	}
}

// setCollector notes the collector, which a line shows. ZGC is the one with generations
// as soon as a line has one.
func (j *Joiner) setCollector(c Collector) {
	if j.run.Collector == "" || j.run.Collector == Z && c == GenerationalZ {
		j.run.Collector = c
	}
}

// parseSize reads "1M", as HotSpot writes sizes, or returns 0.
func parseSize(text string) int64 {
	if text == "" {
		return 0
	}
	value, rest, ok := size([]byte(text), text[len(text)-1])
	if !ok || len(rest) > 0 {
		return 0
	}
	return value
}

// guess notes the collector by a line that only this collector writes, where the start
// of the JVM was not seen.
func (j *Joiner) guess(e *Event) {
	if e.Old || e.Young {
		j.setCollector(GenerationalZ)
	}
	if j.run.Collector != "" {
		return
	}
	name := string(e.Name)
	switch {
	case e.Kind == Space && e.Regions, e.Kind == Begin && strings.HasSuffix(name, "Cycle"), strings.Contains(name, "(G1 "):
		j.setCollector(G1)
	case e.Kind == Space && (name == "DefNew" || name == "Tenured"):
		j.setCollector(Serial)
	case e.Kind == Space && strings.HasPrefix(name, "P") && name != "ParNew" && name != "Promoted":
		j.setCollector(Parallel)
	case e.Kind == Space && (name == "ParNew" || name == "CMS"):
		j.setCollector(CMS)
	case e.Kind == Begin, e.Kind == Cycle:
		j.setCollector(Z)
	case e.Kind == Pause && (strings.HasPrefix(name, "Init ") || strings.HasPrefix(name, "Final ") || strings.HasPrefix(name, "Degenerated")):
		j.setCollector(Shenandoah)
	}
}

// isCollection reports whether a VM operation is one of a collector.
func isCollection(operation string) bool {
	for _, prefix := range [...]string{"G1", "Z", "X", "Shenandoah", "Parallel", "Serial", "Gen", "Collect", "CMS", "CGC"} {
		if strings.HasPrefix(operation, prefix) {
			return true
		}
	}
	return false
}
