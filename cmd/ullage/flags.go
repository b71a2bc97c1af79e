package main

import (
	"flag"
	"time"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/read/report"
	"github.com/ullage/ullage/internal/sidecar"
)

// flagNames returns the names of the flags of all subcommands. In a sidecar's container, environment variables set the
// flags of 'run', and kubectl exec runs other subcommands there, which must not report these variables as misspelt.
func flagNames() []string {
	now, run := time.Now(), sidecar.DefaultConfig()
	declare := []func(*flag.FlagSet){
		run.Flags,
		func(fs *flag.FlagSet) { new(logsConfig).flags(fs, now) },
		func(fs *flag.FlagSet) { new(checkConfig).flags(fs, now) },
		func(fs *flag.FlagSet) { new(reportConfig).flags(fs, now) },
		func(fs *flag.FlagSet) { readFlags(fs, new(report.Config), now) }, // pauses
		func(fs *flag.FlagSet) { new(incidentConfig).flags(fs, now) },
		newAdoptConfig().flags,
		func(fs *flag.FlagSet) { new(statusConfig).flags(fs) },
		func(fs *flag.FlagSet) { new(pruneConfig).flags(fs) },
		(&levelsConfig{verb: "list"}).flags,
		(&levelsConfig{verb: "set"}).flags, // the other verbs have no further flags
	}
	var names []string
	for _, flags := range declare {
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		flags(fs)
		names = append(names, settings.Names(fs)...)
	}
	return names
}
