package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestAReceiverWritesWhatIsPushed sends requests, compressed, uncompressed and invalid.
func TestAReceiverWritesWhatIsPushed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.log")
	address, err := receive(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		body, encoding string
		status         int
	}{
		{`{"_msg":"one \"line\"","_time":"0"}` + "\n" + `{"_msg":"two"}` + "\n", "", http.StatusOK},
		{string(enc.EncodeAll([]byte(`{"_msg":"three"}`+"\n"), nil)), "zstd", http.StatusOK},
		{"{", "", http.StatusBadRequest},
		{"not compressed", "zstd", http.StatusBadRequest},
		{`{"_msg":"` + strings.Repeat("x", longestLine) + `"}`, "", http.StatusBadRequest},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Encoding", c.encoding)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.status {
			t.Errorf("%.40q: got status %d, want %d", c.body, answer.StatusCode, c.status)
		}
	}
	got, err := os.ReadFile(path)
	if want := "one \"line\"\ntwo\nthree\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

// TestArgumentsAreLines checks that empty lines are ignored.
func TestArgumentsAreLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "args")
	if err := os.WriteFile(path, []byte("-a=b c\n-d=\n\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := argumentsIn(path); len(got) != 2 || got[0] != "-a=b c" || got[1] != "-d=" {
		t.Errorf("got %q, want two arguments", got)
	}
}
