package otlp

import "testing"

func FuzzHeaders(f *testing.F) {
	f.Add([]byte("Authorization: Bearer two\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) { _, _ = parseHeaders(text) })
}
