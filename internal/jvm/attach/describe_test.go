package attach

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// Replies of 17.0.15 and 25.0.3, with some flags left out.
const (
	described17 = "6.076 s\nOpenJDK 64-Bit Server VM version 17.0.15+6-Debian-1deb12u1\nJDK 17.0.15\n" +
		"-XX:CICompilerCount=2 -XX:+SegmentedCodeCache -XX:-THPStackMitigation -XX:+UseCompressedOops -XX:+UseSerialGC \n" +
		"VM Arguments:\njvm_args: -Xmx32m -Dpassword=secret --add-modules=ALL-DEFAULT \njava_command: com.example.Main foo secret\n" +
		"java_class_path (initial): .\nLauncher Type: SUN_STANDARD\n"
	described25 = "192.242 s\nOpenJDK 64-Bit Server VM version 25.0.3+9-LTS\nJDK 25.0.3\n-XX:+UseZGC \n" +
		"VM Arguments:\njava_command: /opt/app/shop.jar --port 80\njava_class_path (initial): /opt/app/shop.jar\nLauncher Type: SUN_STANDARD\n"
)

func TestParseDescription(t *testing.T) {
	for name, c := range map[string]struct {
		reply string
		want  Description
	}{
		"JDK 17":             {described17, Description{"com.example.Main", "17.0.15+6-Debian-1deb12u1", "Serial", 6076 * time.Millisecond, "-Xmx32m"}},
		"JDK 25, a jar":      {described25, Description{"/opt/app/shop.jar", "25.0.3+9-LTS", "ZGC", 192242 * time.Millisecond, ""}},
		"nothing":            {"", Description{}},
		"an unknown command": {"6.1 s\njava.lang.IllegalArgumentException: Unknown diagnostic command\n", Description{Uptime: 6100 * time.Millisecond}},
		"another collector":  {"-XX:+UseBestGC \n", Description{}},
		"options": {"VM Arguments:\njvm_args: -Xms1g -Xmx2g -Xlog:gc:file=/x -Xrunjdwp:x -Dx=-Xmx1g -XX:OnError=curl secret -XX:+UseG1GC -agentlib:x \njava_command: -Xmx3g\n",
			Description{Main: "-Xmx3g", Flags: "-Xms1g -Xmx2g -XX:+UseG1GC"}},
		"many options": {"VM Arguments:\njvm_args: " + strings.Repeat("-XX:+UseG1GC ", 60) + "-XX:+ExitOnOutOfMemoryError\n",
			Description{Flags: strings.Repeat("-XX:+UseG1GC ", 60) + "-XX:+ExitOnOutOfMemoryError"}},
		"an option of that name": {"VM Arguments:\njvm_args: -Dx=\n-XX:+UseZGC\n1 s\nX version 7\n", Description{}},
		"no such time":           {"-1 s\n9e99 s\n", Description{}},
	} {
		if diff := cmp.Diff(c.want, ParseDescription(c.reply)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The arguments of an application can contain secrets, and its names can contain escape sequences.
func TestADescriptionIsBoundedAndPrintable(t *testing.T) {
	hostile := "X version \x1b[31m" + strings.Repeat("\u202e", 1000) + "\n-XX:+UseG1GC\nVM Arguments:\njvm_args: " + strings.Repeat("-XX:\x1b ", 1000) + "\njava_command: " +
		strings.Repeat("\xff\u0000A", 10000) + " secret\n"
	d := ParseDescription(hostile)
	for _, text := range []string{d.Main, d.Version, d.Flags} {
		if text == "" || len(text) > maxFlags || !utf8.ValidString(text) || strings.ContainsAny(text, "\x1b\x00\u202e") || strings.Contains(text, "secret") {
			t.Errorf("got the text %q, want 1 to %d printable bytes without the secret", text, maxFlags)
		}
	}
	if text := ParseDescription(described17); strings.Contains(text.Main+text.Version+text.Collector+text.Flags, "secret") {
		t.Errorf(`the description is %+v, want no "secret" in it`, text)
	}
}
