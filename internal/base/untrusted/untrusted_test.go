package untrusted

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

func TestElementsAreCountedOutsideOfStrings(t *testing.T) {
	for text, want := range map[string]int{
		``: 0, `0`: 0, `[]`: 0, `[1]`: 0, `[1,2]`: 1, `{"a":1,"b":[2,3]}`: 2,
		`[",,",","]`: 1, `["\",",","]`: 1, `["\\",",\\,"]`: 1, `"ends in \`: 0, `["open,`: 0,
	} {
		if got := Elements([]byte(text)); got != want {
			t.Errorf("%s has %d elements, want %d", text, got, want)
		}
	}
}

func TestTooManyElementsAreNotDecoded(t *testing.T) {
	type large struct{ Fields [128]int }
	var v []large
	if err := Decode([]byte(`[{},{},{}]`), 2, &v); err != nil || len(v) != 3 {
		t.Fatalf("at the bound: %d values, error %v; want 3 and no error", len(v), err)
	}
	text := []byte("[" + strings.Repeat("{},", 100_000) + "{}]")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := Decode(text, 2, &v)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, ErrElements) || len(v) != 3 || took > 1<<20 {
		t.Errorf("100,001 values: error %v, %d values in v, %d bytes allocated; want ErrElements, still 3 values, and at most 1 MiB", err, len(v), took)
	}
}
