package attach

import (
	"strings"
	"testing"
)

func TestParseReply(t *testing.T) {
	for _, c := range []struct {
		reply  string
		status int
		body   string
		ok     bool
	}{
		{"0\n", 0, "", true},
		{"0\n0\n", 0, "0\n", true},
		{"-1\nno", -1, "no", true},
		{"101\n", 101, "", true},
		{"2147483647\n", 1<<31 - 1, "", true},
		{"2147483648\n", 0, "", false},
		{"00000000000\n", 0, "", false},
		{"", 0, "", false},
		{"0", 0, "", false},
		{"-\n", 0, "", false},
		{"--1\n", 0, "", false},
		{"+1\n", 0, "", false},
		{" 0\n", 0, "", false},
		{"0\r\n", 0, "", false},
		{"1_0\n", 0, "", false},
		{"0\n" + strings.Repeat("x", maxReply-2), 0, strings.Repeat("x", maxReply-2), true},
	} {
		status, body, err := parseReply([]byte(c.reply))
		if status != c.status || body != c.body || err == nil != c.ok {
			t.Errorf("%.40q: the status is %d, the body %.40q, error %v; want %d, %.40q and no error: %t", c.reply, status, body, err, c.status, c.body, c.ok)
		}
	}
}

func FuzzParseReply(f *testing.F) {
	for _, reply := range []string{"0\n", "0\nLog output configuration:\n", "-1\nno", "101\n", "\n", "0", "99999999999\n", "\xff\x00"} {
		f.Add([]byte(reply))
	}
	f.Fuzz(func(t *testing.T, reply []byte) {
		_, body, err := parseReply(reply)
		if err != nil {
			if len(err.Error()) > 300 {
				t.Errorf("the error has %d bytes, want at most 300", len(err.Error()))
			}
			return
		}
		if !strings.HasSuffix(string(reply), "\n"+body) || len(reply)-len(body) > len("-2147483648\n") {
			t.Errorf("the reply %q has the body %q, want everything after the first line, which is the status", reply, body)
		}
	})
}

func FuzzProc(f *testing.F) {
	f.Add("1 (a) b) S 0 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 77 1 1", "Uid:\t1\t2\t3\t4\nGid:\t1\t2\t3\t4\nNSpid:\t4711\t1\nThreads:\t20\nSigCgt:\t0000000000000004\n",
		"java\x00-XX:+DisableAttachMechanism\x00", "A=b\x00_JAVA_OPTIONS=-XX:-DisableAttachMechanism\x00")
	f.Add("", "", "", "")
	f.Fuzz(func(t *testing.T, stat, text, cmdline, environ string) {
		_, _ = parseStat(stat)
		if s, err := parseStatus(text); err == nil && (s.pid < 0 || s.threads < 0) {
			t.Errorf("%q: the status is %+v, want no negative process ID or number of threads", text, s)
		}
		attachDisabled(cmdline, environ)
	})
}
