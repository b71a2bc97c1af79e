package main

import (
	"errors"
	"io"
	"log"
	"os"
	"time"

	"github.com/ullage/ullage/internal/read/incident"
	"github.com/ullage/ullage/internal/read/report/view"
)

// mkincident is a command for scripts. It writes an archive, as a sidecar sends it, into a file:
//
//	mkincident FILE
func mkincident() {
	f, err := os.Create(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	a := incident.New(f, incident.Manifest{Of: "/durable on web-0", Version: "v1", Since: time.Unix(1e9, 0), Until: time.Unix(1e9+600, 0)})
	a.Lack("gc.log: gaps: <b>1</b>")
	text := func(w io.Writer) error { _, err := io.WriteString(w, "[1s][info][gc] <script>\n"); return err }
	if err := errors.Join(a.Report(&view.Report{Name: "/durable", Inputs: []view.Input{{Name: "gc.log"}}}),
		a.Lines([]incident.Stream{{Name: "gc.log", Print: text}}), a.Close(), f.Close()); err != nil {
		log.Fatal(err)
	}
}
