package settings

import (
	"flag"
	"strings"
	"testing"
)

func TestParseCPU(t *testing.T) {
	for _, c := range []struct {
		text string
		want CPU
		back string
	}{
		{"0", 0, "0"},
		{"0m", 0, "0"},
		{"1m", 0.001, "1m"},
		{"500m", 0.5, "500m"},
		{"0.5", 0.5, "500m"},
		{"0.5000", 0.5, "500m"},
		{".5", 0.5, "500m"},
		{"0.001", 0.001, "1m"},
		{"2", 2, "2"},
		{"2.", 2, "2"},
		{"2000m", 2, "2"},
		{"1.25", 1.25, "1250m"},
		{"007m", 0.007, "7m"},
		{"1024", 1024, "1024"},
		{"1024000m", 1024, "1024"},
	} {
		got, err := ParseCPU(c.text)
		if err != nil || got != c.want || got.String() != c.back {
			t.Errorf("ParseCPU(%q) = %v (%s), %v; want %v (%s)", c.text, float64(got), got, err, float64(c.want), c.back)
		}
	}
}

func TestParseCPURefuses(t *testing.T) {
	for text, why := range map[string]string{
		"": "write it like", "m": "write it like", ".": "write it like", ".m": "write it like", "-1": "write it like", "+1": "write it like",
		"0.5m": "write it like", "0.0005": "write it like", "1e3": "write it like", "inf": "write it like", "0x1": "write it like",
		"1_000": "write it like", "2k": "write it like", "500u": "write it like", "50%": "write it like", "1 ": "write it like", "1.-5": "write it like",
		"18446744073709551616": "write it like", "18446744073709551": "more CPU than the 1024 cores",
		"1024.001": "more CPU than the 1024 cores", "1024001m": "more CPU than the 1024 cores", "2048": "more CPU than the 1024 cores",
	} {
		if got, err := ParseCPU(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("ParseCPU(%q) = %v, %v; want an error with %q", text, float64(got), err, why)
		}
	}
}

func TestCPUIsAFlagValue(t *testing.T) {
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	cpu := CPU(0.5)
	fs.Var(&cpu, "cpu", "use at most `CPU`")
	none := func(string) (string, bool) { return "", false }
	if bad := Parse(fs, []string{"--cpu", "1500m"}, none); bad != nil || cpu != 1.5 {
		t.Errorf("%v, %v", cpu, bad)
	}
	bad := Parse(fs, []string{"--cpu", "lots"}, none)
	if len(bad) != 1 || bad[0].Error() != `invalid value "lots" for --cpu: "lots" is not an amount of CPU (write it like 500m, 0.5 or 2)` || cpu != 0.5 {
		t.Errorf("%v, %v; want the default back, and an error", cpu, bad)
	}
}

func FuzzParseCPU(f *testing.F) {
	for _, s := range []string{"500m", "0.5", "2", "1024", "1.0010", "-1", "1e3", "NaN"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ParseCPU(text)
		if err != nil {
			return
		}
		if !(v >= 0 && v <= MaxCPU) {
			t.Fatalf("ParseCPU(%q) = %v", text, float64(v))
		}
		if back, err := ParseCPU(v.String()); err != nil || back != v {
			t.Fatalf("%q → %v → %q → %v, %v", text, float64(v), v, float64(back), err)
		}
	})
}
