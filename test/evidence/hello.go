package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// mode is a way in which the JVM writes its log.
type mode struct {
	name  string
	flags []string
	from  int // the first JDK that has the mode
}

var modes = []mode{
	{"synchronous", nil, 17},
	{"async, 2 MB", []string{"-Xlog:async"}, 17},
	{"async, 4 MB", []string{"-Xlog:async", "-XX:AsyncLogBufferSize=4M"}, 17},
	{"async:stall", []string{"-Xlog:async:stall"}, 25},
}

var places = []string{"disk", "tmpfs", "tmpfs + ullage"}

// startRounds is the least number of rounds, except in a quick run, since a start takes only a tenth of a
// second.
const startRounds = 20

// hello measures a short program on each JDK that logs everything it can.
func hello(e *evidence) (*experiment, error) {
	x := &experiment{
		Name: "hello", Title: "HelloWorld at all=trace", Plot: "wall",
		Question: "What does a JVM's most verbose log cost it, for each way to write it and each place?",
		Method: "A Java program that prints one line runs with `-Xlog:all=trace` to a new file. Wall and CPU time are the JVM's alone; " +
			"the sidecar, which was started a second before, has a column of its own: its CPU time with its start and its drain. Lines are counted in the file, or in the sidecar's segments. " +
			"Dropped is the sum of HotSpot's own reports.",
		Threat: "The run is short: the JVM's start is most of it. The disk is healthy, and a file of this size stays in the page cache, " +
			"so the disk's own speed hardly shows.",
		Columns: []column{{"wall", "wall, s"}, {"cpu", "CPU, s"}, {"side", "sidecar's CPU, s"}, {"lines", "lines"}, {"dropped", "dropped"}},
	}
	var all []entry
	for _, jdk := range e.jdks {
		for _, m := range modes {
			for _, place := range places {
				if jdk.Version >= m.from {
					all = append(all, entry{fmt.Sprintf("JDK %d, %s, %s", jdk.Version, m.name, place), func() (figures, error) { return sayHello(e, jdk, m, place) }})
				}
			}
		}
	}
	rounds := e.rounds
	if rounds >= leastRounds {
		rounds = max(rounds, startRounds)
	}
	return x, e.quiet.inTurn(x, rounds, all)
}

func sayHello(e *evidence, jdk lab.JDK, m mode, place string) (figures, error) {
	base := e.shm
	if place == "disk" {
		base = e.disk
	}
	source, err := fresh(base, "hello")
	if err != nil {
		return nil, err
	}
	dest, err := fresh(e.disk, "durable")
	if err != nil {
		return nil, err
	}
	var s *shipper
	if place == "tmpfs + ullage" {
		if s, err = e.ship(source, dest); err != nil {
			return nil, err
		}
		defer s.Kill()
		time.Sleep(time.Second) // as in a pod, the sidecar's own start is over
	}
	args := append([]string{"-Xmx64m", "-Xlog:all=trace:file=" + source + "/gc.log:uptime,level,tags:filecount=1,filesize=0"}, m.flags...)
	f, err := measure(e.ctx, jdk.Java(), append(args, "-cp", e.classes, "Hello")...)
	if err != nil {
		return nil, err
	}
	if s != nil {
		if err := s.Stop(time.Minute); err != nil {
			return nil, err
		}
		f["side"] = cpu(s.cmd.ProcessState)
	}
	l, err := countIn(source, dest, s != nil)
	f["lines"], f["dropped"] = l.count, l.dropped
	return f, err
}

// countIn counts the lines of gc.log in the segments if they are shipped, otherwise in the file.
func countIn(source, dest string, shipped bool) (l lines, err error) {
	if !shipped {
		file, err := os.Open(filepath.Join(source, "gc.log"))
		if err != nil {
			return l, err
		}
		err = l.read(bufio.NewReader(file))
		return l, errors.Join(err, file.Close())
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(lab.ReadStream(w, dest, "gc.log")) }()
	err = l.read(bufio.NewReaderSize(r, 1<<20))
	return l, errors.Join(err, r.Close())
}
