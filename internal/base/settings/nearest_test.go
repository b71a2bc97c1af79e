package settings

import "testing"

func TestNearest(t *testing.T) {
	words := []string{"log", "log-for", "trigger", "trigger-log", "trigger-for", "container", "xlog"}
	for word, want := range map[string]string{
		"log":            "log",
		"LOG":            "log",
		"logs":           "log",
		"lgo":            "log",
		"lo":             "log",
		"xlgo":           "xlog",
		"log_for":        "log-for",
		"logFor":         "log-for",
		"triger":         "trigger",
		"trigerlog":      "trigger-log",
		"trigger-lgo":    "trigger-log",
		"continer":       "container",
		"conatiners":     "container",
		"":               "",
		"for":            "",
		"buffer":         "",
		"trigger-length": "",
		"\xff\x00":       "",
	} {
		if got := Nearest(word, words); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
	if got := Nearest("dog", []string{"log", "fog"}); got != "log" {
		t.Errorf("of two equally near words, Nearest returned %q, want the first", got)
	}
}
