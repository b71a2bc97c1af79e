package settings

import (
	"bytes"
	"errors"
	"flag"
	"strings"
	"testing"
)

func TestLog(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	for args, want := range map[string]string{
		"":                                    "level=INFO msg=i\n",
		"--log-level debug":                   "level=DEBUG msg=d\n",
		"--log-level WARNING":                 "level=WARN msg=w\n",
		"--log-level warn":                    "level=WARN msg=w\n",
		"--log-level Error":                   "level=ERROR msg=e\n",
		"--log-format JSON --log-level error": `"level":"ERROR","msg":"e"}` + "\n",
	} {
		var l Log
		var b bytes.Buffer
		fs := flag.NewFlagSet("run", flag.ContinueOnError)
		l.Flags(fs)
		if bad := Parse(fs, strings.Fields(args), none); bad != nil {
			t.Errorf("the errors of %q are %v, want nil", args, bad)
		}
		log := l.Logger(&b)
		log.Debug("d")
		log.Info("i")
		log.Warn("w")
		log.Error("e")
		if first, _, _ := strings.Cut(b.String(), "\n"); !strings.HasSuffix(first+"\n", want) {
			t.Errorf("%q: the log begins with %q, want %q", args, first, want)
		}
	}
	var l Log
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	l.Flags(fs)
	bad := errors.Join(Parse(fs, []string{"--log-level=loud", "--log-format=xml"}, none)...)
	want := "invalid value \"loud\" for --log-level: use debug, info, warn or error\ninvalid value \"xml\" for --log-format: use text or json"
	if bad == nil || bad.Error() != want {
		t.Errorf("the error is %v, want %s", bad, want)
	}
}
