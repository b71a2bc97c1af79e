package adopt

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

func TestATmpfsThatIsNeededOrTooSmallIsRefused(t *testing.T) {
	const mi = 1 << 20
	for name, c := range map[string]struct {
		size, free int64
		n          int
		want       int64
		refusal    string
	}{
		"Docker's":                   {64 * mi, 64 * mi, 1, 8 * mi, ""},
		"half of it used":            {64 * mi, 32 * mi, 1, 8 * mi, ""},
		"more than half used":        {64 * mi, 32*mi - 1, 1, 0, "more than half full"},
		"full":                       {64 * mi, 0, 1, 0, "uses 64.0 MiB of the 64.0 MiB"},
		"64 KiB":                     {64 << 10, 64 << 10, 1, 0, "has 64.0 KiB"},
		"enough for eight, not nine": {64 * mi, 64 * mi, 9, 0, "less than 1.00 MiB for each"},
		"several JVMs share it":      {64 * mi, 64 * mi, 4, 2 * mi, ""},
		"a machine's":                {24 << 30, 24 << 30, 1, 64 * mi, ""},
		"without a limit":            {0, 0, 2, 32 * mi, ""},
	} {
		got, err := budgetOf(c.size, c.free, c.n)
		if got != c.want || (err != nil) != (c.refusal != "") || err != nil && !strings.Contains(err.Error(), c.refusal) {
			t.Errorf("%s: the budget is %d, error %v; want %d, %q", name, got, err, c.want, c.refusal)
		}
	}
}

func TestWhatIsNotAJVMIsRefused(t *testing.T) {
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		strconv.Itoa(os.Getpid()):          "adopt.test) is not a HotSpot JVM",
		strconv.Itoa(gone.Process.Pid):     "no process ",
		"0":                                "0 is not a process ID",
		"-1":                               "-1 is not a process ID",
		"5000000":                          "5000000 is not a process ID",
		"no.such.Main-" + t.Name():         "no JVM here has",
		"99999999999999999999999999999999": "no JVM here has",
	} {
		if guests, _, err := Find(t.Context(), target); err == nil || len(guests) > 0 || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: found %v, error %v, want %q", target, guests, err, want)
		}
	}
}

func TestAJVMIsNamedByAWordOfItsCommandLine(t *testing.T) {
	for _, c := range []struct {
		arg, word string
		want      bool
	}{
		{"com.example.Main", "com.example.Main", true},
		{"com.example.Main", "Main", true},
		{"com.example.Main", "main", false},
		{"com.example.Main", "example", false},
		{"/opt/app.jar", "app.jar", true},
		{"/opt/app.jar", "/opt/app.jar", true},
		{"server/org.example.Server", "Server", true},
		{"-Dmain=Main", "Main", false},
		{"-jar", "-jar", false},
	} {
		if got := isNamed(c.arg, c.word); got != c.want {
			t.Errorf("%s is named %s: %t, want %t", c.arg, c.word, got, c.want)
		}
	}
}
