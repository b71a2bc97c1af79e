package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/jvm/handover"
)

// fakeKubectl writes its arguments to $FAKE/calls, a line for each call, and plays the records in $FAKE: NAME.out goes
// to stdout, NAME.err goes to stderr and makes fakeKubectl fail. NAME is get, annotate, auth, cat, create, fetch,
// incident, logs, replace, report, port-forward, or the kind of the object to get. Once a container has been added to a
// pod, NAME is pod.adopted; the word NAME in that record stands for the container's name. For a sidecar's status, NAME
// is POD.CONTAINER, or POD.CONTAINER.annotated once the pod is annotated. For a report, NAME is POD.report if such a
// record exists, and report otherwise.
func fakeKubectl() {
	f := fake{dir: os.Getenv("FAKE")}
	args := os.Args[1:]
	f.append("calls", strings.Join(args, " ")+"\n")
	args = slices.DeleteFunc(args, func(a string) bool {
		return strings.HasPrefix(a, "--namespace=") || strings.HasPrefix(a, "--context=") || strings.HasPrefix(a, "--kubeconfig=") || a == "--stdin"
	})
	switch args[0] {
	case "get":
		f.play(f.named(args[1:]))
	case "create":
		text, err := io.ReadAll(os.Stdin)
		if err != nil {
			f.fail(err)
		}
		f.append("created", string(text))
		f.play("create")
	case "logs":
		f.play("logs")
	case "auth":
		f.play("auth")
	case "replace":
		f.replace(args[1])
	case "annotate":
		f.append("annotations", strings.Join(args[3:], "\n")+"\n")
		f.play("annotate")
	case "port-forward":
		f.forward()
	case "exec":
		if args[4] == "printenv" {
			f.play("printenv")
			return
		}
		name := strings.TrimPrefix(args[1], "pod/") + "." + strings.TrimPrefix(args[2], "--container=")
		switch args[5] {
		case "status":
			f.status(name)
			return
		case "report":
			record := strings.TrimPrefix(args[1], "pod/") + ".report"
			if _, out := f.read(record + ".out"); !out {
				if _, err := f.read(record + ".err"); !err {
					record = "report"
				}
			}
			f.play(record)
			return
		case "incident":
			f.play("incident")
			return
		case "adopt":
			f.fetch()
			return
		}
		f.cat(args[6:])
	}
}

type fake struct{ dir string }

// named returns the name of the record for a get: "injectors" for the injector's pods, "get" for other calls that begin
// with --output=json and get a list of pods or named pods, "played" for a pod to which a container has been added, and
// otherwise the kind of the object.
func (f fake) named(args []string) string {
	kind, _, _ := strings.Cut(strings.TrimLeft(args[0], "-"), "/")
	switch {
	case slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "ullage-injector") }):
		return "injectors"
	case args[0] == "--output=json":
		return "get"
	}
	name, adopted := f.read("adopter")
	if record, there := f.read(kind + ".adopted"); adopted && there {
		f.append("played.out", "")
		text := strings.ReplaceAll(string(record), "NAME", string(name))
		if err := os.WriteFile(filepath.Join(f.dir, "played.out"), []byte(text), 0o644); err != nil {
			f.fail(err)
		}
		return "played"
	}
	return kind
}

// replace plays the update of a pod. Except in a dry run, it keeps the name of the last ephemeral container.
func (f fake) replace(raw string) {
	var body struct {
		Spec struct {
			EphemeralContainers []map[string]any `json:"ephemeralContainers"`
		} `json:"spec"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&body); err != nil {
		f.fail(err)
	}
	f.play("replace")
	if all := body.Spec.EphemeralContainers; len(all) > 0 && !strings.Contains(raw, "dryRun") {
		last := all[len(all)-1]
		text, err := json.MarshalIndent(last, "", " ")
		if err != nil {
			f.fail(err)
		}
		f.append("added", string(text)+"\n")
		f.append("adopter", fmt.Sprint(last["name"]))
	}
}

// fetch hands over $FAKE/shipped, or plays fetch.out if it exists. $FAKE/broken contains the number of fetches, counted
// from the first, whose connection breaks in the middle. If $FAKE/waiting exists, a fetch without --now sends nothing
// and fails once it is interrupted. If $FAKE/killed exists, the container is killed before the adoption ends, and later
// calls get the pod that $FAKE/killed describes.
func (f fake) fetch() {
	in := bufio.NewReader(os.Stdin)
	has, err := handover.Asked(in)
	if err != nil {
		f.fail(err)
	}
	f.append("asked", fmt.Sprintln(len(has)))
	calls, _ := f.read("calls")
	text, _ := f.read("broken")
	breaks, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	killed, isKilled := f.read("killed")
	if _, waiting := f.read("waiting"); waiting && !slices.Contains(os.Args, "--now") {
		end := make(chan os.Signal, 1)
		signal.Notify(end, os.Interrupt)
		f.append("fetching", "")
		<-end
		os.Exit(1)
	}
	if _, played := f.read("fetch.out"); played {
		f.play("fetch")
	} else {
		f.handOver(has, strings.Count(string(calls), "adopt --fetch") <= breaks || isKilled)
	}
	if isKilled {
		if err := os.WriteFile(filepath.Join(f.dir, "pod.adopted"), killed, 0o644); err != nil {
			f.fail(err)
		}
		os.Exit(exitSigkill)
	}
	line, err := io.ReadAll(in)
	if err != nil {
		f.fail(err)
	}
	f.append("confirmed", string(line))
}

// handOver writes a copy of $FAKE/shipped to stdout. If breaks is true, the connection breaks after the first look at
// the files.
func (f fake) handOver(has []handover.Part, breaks bool) {
	looks := 0
	next := func() (last bool, err error) {
		if looks++; breaks && looks > 1 {
			err = errors.New("error: lost connection to pod")
		}
		return !breaks, err
	}
	err := handover.Write(os.Stdout, filepath.Join(f.dir, "shipped"), has, next)
	if _, isKilled := f.read("killed"); err != nil && !isKilled {
		fmt.Fprintln(os.Stderr, "error: lost connection to pod")
		os.Exit(1)
	}
}

func (f fake) fail(err error) {
	fmt.Fprintln(os.Stderr, "the fake kubectl failed:", err)
	os.Exit(3)
}

func (f fake) append(name, text string) {
	file, err := os.OpenFile(filepath.Join(f.dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		f.fail(err)
	}
	file.WriteString(text)
	file.Close()
}

// read returns the record with the given name and whether the record exists.
func (f fake) read(name string) ([]byte, bool) {
	text, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil && !os.IsNotExist(err) {
		f.fail(err)
	}
	return text, err == nil
}

func (f fake) play(name string) {
	text, _ := f.read(name + ".out")
	os.Stdout.Write(text)
	if text, failed := f.read(name + ".err"); failed {
		os.Stderr.Write(text)
		os.Exit(1)
	}
}

// forward plays a forwarded port until it is interrupted. $FAKE/lost contains the number of forwards, counted from the
// first, that end at once, as they do when the connection is lost.
func (f fake) forward() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, os.Interrupt)
	f.play("port-forward")
	text, _ := f.read("lost")
	lost, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	calls, _ := f.read("calls")
	if strings.Count(string(calls), "port-forward") <= lost {
		fmt.Fprintln(os.Stderr, "error: lost connection to pod")
		os.Exit(1)
	}
	f.append("forwarding", "")
	<-end
	f.append("interrupted", "")
	os.Exit(1)
}

// cat plays the persisted lines. With --follow, cat continues until it is interrupted or its stdin ends. If
// $FAKE/endless exists, cat repeats the lines and never ends.
func (f fake) cat(args []string) {
	end := make(chan os.Signal, 1)
	signal.Notify(end, os.Interrupt)
	f.play("cat")
	for _, endless := f.read("endless"); endless; { // until the reader goes away
		f.play("cat")
	}
	if slices.Contains(args, "--follow") {
		f.append("following", "")
		eof := make(chan struct{})
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			close(eof)
		}()
		select {
		case <-end:
			f.append("interrupted", "")
		case <-eof:
			f.append("eof", "")
		}
		os.Exit(1)
	}
	if text, ok := f.read("cat.stderr"); ok {
		os.Stderr.Write(text)
	}
	if text, ok := f.read("cat.code"); ok {
		code, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		os.Exit(code)
	}
}

// status plays the status of a sidecar that has applied the annotations to every
// JVM whose record shows no error.
func (f fake) status(name string) {
	notes, annotated := f.delivered()
	text, differs := f.read(name + ".annotated.out")
	if !annotated || !differs {
		if _, there := f.read(name + ".out"); !there || !annotated {
			f.play(name)
			return
		}
		text, _ = f.read(name + ".out")
	}
	var st admin.Status
	if err := json.Unmarshal(text, &st); err != nil {
		os.Stdout.Write(text)
		return
	}
	if _, deaf := f.read("deaf"); st.Levels != nil && !deaf {
		f.annotated(&st, strings.Split(strings.TrimSpace(string(notes)), "\n"))
	}
	if err := json.NewEncoder(os.Stdout).Encode(st); err != nil {
		f.fail(err)
	}
}

// delivered returns the annotations that have arrived in the pod. $FAKE/missed contains how many changes the kubelet
// misses.
func (f fake) delivered() (notes []byte, annotated bool) {
	notes, annotated = f.read("annotations")
	text, _ := f.read("missed")
	missed, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	calls, _ := f.read("calls")
	return notes, annotated && strings.Count(string(calls), "annotate --overwrite") > missed
}

func (f fake) annotated(st *admin.Status, notes []string) {
	raise := &admin.Raise{Cause: "annotation", Why: "annotation ullage.dev/log", Since: time.Now()}
	app := &admin.AppRaise{Cause: "annotation"}
	for _, note := range notes {
		switch key, value, _ := strings.Cut(note, "="); key {
		case logKey:
			raise.Selection = value
		case logStreamKey:
			raise.Stream = value
		case logIDKey:
			raise.ID = value
		case appLogKey:
			app.Level = value
		case appLogIDKey:
			app.ID = value
		case logForKey:
			lasts, err := time.ParseDuration(value)
			if err != nil {
				f.fail(err)
			}
			raise.Until = raise.Since.Add(lasts)
		}
	}
	if app.Level != "" {
		st.Levels.App = app
	}
	if raise.Selection == "" && app.Level != "" {
		return
	}
	if st.Levels.Raise = raise; slices.Contains(notes, logKey+"-") {
		st.Levels.Raise, raise.Selection = nil, ""
	}
	for i := range st.Levels.JVMs {
		if j := &st.Levels.JVMs[i]; j.Error == "" {
			j.Applied = raise.Selection
		}
	}
}
