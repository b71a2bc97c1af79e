package format

import "github.com/ullage/ullage/internal/line/ul"

// maxLevel is the length of the longest name of a level.
const maxLevel = len("EMERGENCY")

// levelOf returns the level of a name in upper-case letters, or Unknown. The names are
// those of SLF4J, Log4j, JUL and syslog. CONFIG becomes Info, as in jul-to-slf4j.
func levelOf(word []byte) ul.Level {
	switch string(word) {
	case "INFO", "NOTICE", "CONFIG":
		return ul.Info
	case "DEBUG", "FINE":
		return ul.Debug
	case "TRACE", "FINER", "FINEST":
		return ul.Trace
	case "WARN", "WARNING":
		return ul.Warning
	case "ERROR", "SEVERE", "FATAL", "CRITICAL", "ALERT", "EMERGENCY":
		return ul.Error
	}
	return ul.Unknown
}

// levelOfAnyCase is levelOf for names in any case.
func levelOfAnyCase(word []byte) ul.Level {
	var upper [maxLevel]byte
	if len(word) > len(upper) {
		return ul.Unknown
	}
	for i, c := range word {
		if c-'a' < 26 {
			c -= 'a' - 'A'
		}
		upper[i] = c
	}
	return levelOf(upper[:len(word)])
}

// levelOfNumber returns the level of one of syslog's severities, 0 to 7, or of the levels
// of Bunyan and pino, 10 to 60.
func levelOfNumber(text []byte) ul.Level {
	switch string(text) {
	case "0", "1", "2", "3", "50", "60":
		return ul.Error
	case "4", "40":
		return ul.Warning
	case "5", "6", "30":
		return ul.Info
	case "7", "20":
		return ul.Debug
	case "10":
		return ul.Trace
	}
	return ul.Unknown
}
