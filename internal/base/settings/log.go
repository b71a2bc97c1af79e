package settings

import (
	"errors"
	"flag"
	"io"
	"log/slog"
	"strings"
)

// Log is how a program writes its own log. The zero value writes text at level info and above.
type Log struct {
	format logFormat
	level  logLevel
}

// LogAt returns a Log that writes at a level and above, unless a flag sets another level.
func LogAt(level slog.Level) Log { return Log{level: logLevel(level)} }

// Flags declares the settings on fs, with the values of l as defaults.
func (l *Log) Flags(fs *flag.FlagSet) {
	fs.Var(&l.format, "log-format", "`FORMAT` of ullage's own log on stderr: text or json")
	fs.Var(&l.level, "log-level", "lowest `LEVEL` that ullage itself logs: debug, info, warn or error")
}

// Logger returns the log that writes to w.
func (l Log) Logger(w io.Writer) *slog.Logger {
	opts := &slog.HandlerOptions{Level: slog.Level(l.level)}
	if l.format {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

// logFormat implements [flag.Value]: true for JSON.
type logFormat bool

func (f *logFormat) String() string {
	if *f {
		return "json"
	}
	return "text"
}

// Choices returns the formats.
func (f *logFormat) Choices() []string { return []string{"text", "json"} }

func (f *logFormat) Set(text string) error {
	switch strings.ToLower(text) {
	case "text":
		*f = false
	case "json":
		*f = true
	default:
		return errors.New("use text or json")
	}
	return nil
}

// logLevel implements [flag.Value].
type logLevel slog.Level

func (l *logLevel) String() string { return strings.ToLower(slog.Level(*l).String()) }

// Choices returns the names of the levels.
func (l *logLevel) Choices() []string { return []string{"debug", "info", "warn", "error"} }

// Set accepts the names of the levels in any case, and also warning, as JVMs spell warn.
func (l *logLevel) Set(text string) error {
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if strings.EqualFold(text, level.String()) || level == slog.LevelWarn && strings.EqualFold(text, "warning") {
			*l = logLevel(level)
			return nil
		}
	}
	return errors.New("use debug, info, warn or error")
}
