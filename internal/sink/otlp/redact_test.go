package otlp

import "testing"

func TestAnAnswerDoesNotRepeatSecrets(t *testing.T) {
	sent := []header{{"Authorization", "Basic bWU6aGlkZGVuLXdvcmQ="}, {"X-Token", "hidden-token"}, {"X-On", "true"}}
	for answer, want := range map[string]string{
		"":              "",
		"no such index": "no such index",
		"Authorization: Basic bWU6aGlkZGVuLXdvcmQ=": "Authorization: **************************",
		"bWU6aGlkZGVuLXdvcmQ= and me:hidden-word":   "******************** and me:***********",
		"hidden-token, hidden-token; true":          "************, ************; true",
	} {
		got := []byte(answer)
		if redact(got, sent); string(got) != want {
			t.Errorf("%q: %q, want %q", answer, got, want)
		}
	}
}
