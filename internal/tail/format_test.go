package tail

import (
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/ul"
)

// The lines of an application have the levels that they show, and those of a stack trace
// the level of their record.
func TestLinesOfAnApplicationHaveLevels(t *testing.T) {
	for name, text := range map[string]string{
		"pattern": "07:36:35.123 [main] INFO  c.e.Main -- a\n07:36:35.124 [main] ERROR c.e.Main -- b\n\tat c.e.Main.main\n",
		"jul":     "Nov 23, 2026 7:36:35 AM c.e.Main main\nINFO: a\nNov 23, 2026 7:36:35 AM c.e.Main main\nSEVERE: b\n",
		"json":    "{\"level\":\"INFO\",\"message\":\"a\"}\n{\"level\":\"ERROR\"}\n{\"level\":\"ERROR\"}\n",
		"ul":      "[0.1s][info][gc] a\n[0.2s][error][gc] b\n more\n",
	} {
		t.Run(name, func(t *testing.T) {
			var levels [ul.NumLevels]int
			r := newRig(t, func(c *Config) {
				c.OnLine = func(_ string, _ []byte, class ul.Class) { levels[class.Level]++ }
			})
			r.put("app.log", text)
			r.read()
			r.want("app.log", text)
			if levels[ul.Error] != 2 || levels[ul.Info] != strings.Count(text, "\n")-2 {
				t.Errorf("lines by level: %v", levels)
			}
			if st := r.src.Stats().Streams; len(st) != 1 || st[0].Format != name {
				t.Errorf("streams: %+v", st)
			}
		})
	}
}
