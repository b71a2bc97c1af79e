package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func parseContainer(t *testing.T, text string) container {
	t.Helper()
	var c container
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestASidecarIsKnownByItsNameAndWhatItRuns(t *testing.T) {
	for text, want := range map[string]bool{
		`{"name":"ullage","image":"ullage/ullage:v1"}`:                            true,
		`{"name":"ullage-2","image":"ullage@sha256:0123"}`:                        true,
		`{"name":"ullage","image":"mirror:5000/ullage-mirror:v1","args":["run"]}`: true,
		`{"name":"ullage","image":"mirror/x","command":["/ullage","run"]}`:        true,
		`{"name":"ullage","image":"ullage/ullage-injector:v1","args":["serve"]}`:  false,
		`{"name":"ullage-tools","image":"ullage"}`:                                false,
		`{"name":"app","image":"ullage","args":["run"]}`:                          false,
		`{"name":"ullage"}`: false,
	} {
		if got := isSidecar(parseContainer(t, text)); got != want {
			t.Errorf("%s: isSidecar is %t, want %t", text, got, want)
		}
	}
}

func TestASidecarIsAskedAtItsOwnAddress(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "ullage status --json",
		`{"env":[{"name":"ULLAGE_LISTEN","value":":9920"}]}`:                                           "ullage status --json --addr=127.0.0.1:9920",
		`{"env":[{"name":"ULLAGE_LISTEN","value":":1"},{"name":"ULLAGE_LISTEN","value":"[::]:9921"}]}`: "ullage status --json --addr=127.0.0.1:9921",
		`{"args":["run","--listen","[::1]:9922"],"env":[{"name":"ULLAGE_LISTEN","value":":9920"}]}`:    "ullage status --json --addr=[::1]:9922",
		`{"args":["run","--listen=localhost:9923"]}`:                                                   "ullage status --json --addr=127.0.0.1:9923",
		`{"args":["listen","--listen"]}`:                                                               "ullage status --json",
		`{"env":[{"name":"ULLAGE_LISTEN","value":":9920"},{"name":"ULLAGE_ADDR","value":"x:1"}]}`:      "ullage status --json",
		`{"env":[{"name":"ULLAGE_LISTEN","value":":$(PORT)"}]}`:                                        "ullage status --json",
		`{"env":[{"name":"ULLAGE_LISTEN","value":"off"}]}`:                                             "ullage status --json",
		`{"env":[{"name":"ULLAGE_LISTEN","value":":99999"}]}`:                                          "ullage status --json",
		`{"command":["/opt/ullage","run"]}`:                                                            "/opt/ullage status --json",
		`{"command":["sh"]}`:                                                                           "ullage status --json",
	} {
		s := sidecar{pod: "web-0", container: parseContainer(t, text)}
		got := s.exec(s.statusArgs()...)
		if !slices.Equal(got[:4], []string{"exec", "pod/web-0", "--container=", "--"}) || strings.Join(got[4:], " ") != want {
			t.Errorf("%s: the arguments are %q, want %q after exec pod/web-0 --container= --", text, got, want)
		}
	}
}

func TestALocalTimeGetsItsZone(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.FixedZone("", 3600))
	for text, want := range map[string]string{
		"2026-11-20":              "2026-11-20T00:00:00+01:00",
		"2026-11-20T16:45":        "2026-11-20T16:45:00+01:00",
		"2026-11-20T16:45:11.123": "2026-11-20T16:45:11.123+01:00",
		"11:45":                   "2026-11-20T11:45:00+01:00",
		"16:45":                   "2026-11-19T16:45:00+01:00",
		"10m":                     "10m",
		"2026-11-20T16:45:11Z":    "2026-11-20T16:45:11Z",
		"7d":                      "7d",
	} {
		if got, err := zoned(text, at); got != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
}

// script returns a cluster whose kubectl is a shell script.
func script(t *testing.T, text string) cluster {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubectl")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return cluster{kubectl: path}
}

func TestEverySidecarGetsItsOwnAnswer(t *testing.T) {
	defer goleak.VerifyNone(t)
	c := script(t, `printf '{"backlogBytes": %s}' "${2#pod/}"`)
	answers := make([]answer, 3*atOnce)
	for i := range answers {
		answers[i].of = sidecar{cluster: c, pod: strconv.Itoa(i)}
	}
	askAll(t.Context(), answers)
	for i, a := range answers {
		if a.err != nil || a.status.BacklogBytes != int64(i) {
			t.Errorf("the backlog of pod %d is %d, error %v; want %d and no error", i, a.status.BacklogBytes, a.err, i)
		}
	}
}

func TestKubectlIsHeldToItsBounds(t *testing.T) {
	defer goleak.VerifyNone(t)
	for name, c := range map[string]struct{ script, want string }{
		"endless":            {"exec cat /dev/zero", "the answer is longer than 1048576 bytes"},
		"endless complaint":  {"head -c 1000000 /dev/zero >&2; exit 1", "?"},
		"no reason":          {"exit 7", "kubectl gave no reason (exit status 7)"},
		"a child that stays": {"sleep 5 & exec cat /dev/zero", "the answer is longer than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := script(t, c.script).run(t.Context(), maxStatus)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || len(err.Error()) > 2*maxComplaint {
				t.Errorf("after %d bytes of output, the error is %.100v, want one that begins with %q and has at most %d bytes", len(out), err, c.want, 2*maxComplaint)
			}
		})
	}
}
