package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/ullage/ullage/test/lab"
)

// comparedLogs is how many logs are compared.
const comparedLogs = 200

// comparedName is the only row of the experiment compared.
const comparedName = "200 logs of a day"

// compared measures how ullage report compares the logs of many pods.
func compared(e *evidence) (*experiment, error) {
	size := max(int64(e.size)<<20/64, 1<<20)
	x := &experiment{
		Name: "compared", Title: "A comparison of many logs", Plot: "wall",
		Question: "What does it take to compare the logs of 200 pods?",
		Method: fmt.Sprintf("%d logs of a JVM's day, of %d MiB each, with eight lines for each collection. "+
			"`ullage report --compare` compares the first half with the second and writes its page.", comparedLogs, size>>20),
		Threat:  "The logs are written by a program, and are alike. They may be in the page cache.",
		Columns: []column{{"wall", "wall, s"}, {"cpu", "CPU, s"}, {"peak", "peak memory, MiB"}, {"page", "page, KiB"}},
	}
	dir, err := fresh(e.disk, "compared")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	page := filepath.Join(dir, "report.html")
	args := []string{"report", "--compare", "--output", page}
	for i := range comparedLogs {
		if i == comparedLogs/2 {
			args = append(args, "vs")
		}
		log := filepath.Join(dir, fmt.Sprintf("pod-%03d.log", i))
		if err := lab.WriteDay(log, size, 0); err != nil {
			return nil, err
		}
		args = append(args, log)
	}
	return x, e.inTurn(x, []entry{{comparedName, func() (figures, error) {
		f, err := measure(e.ctx, e.ullage, args...)
		if err != nil {
			return nil, err
		}
		return f, f.pageSize(page)
	}}})
}

// pageSize enters the size of a page into the figures.
func (f figures) pageSize(page string) error {
	info, err := os.Stat(page)
	if err == nil {
		f["page"] = float64(info.Size()) / 1024
	}
	return err
}
