package repo

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// newerBash matches syntax of bash 4 and later, which the bash 3.2 of macOS lacks.
var newerBash = regexp.MustCompile(`(declare|local|typeset) -[aA-Z]*[An]|mapfile|readarray|coproc|\|&|\$\{\w+(,|\^)|wait -n|\[\[ -v|globstar|printf.*%\(|=\$EPOCH`)

// The scripts must also run on macOS, except for steps that need Linux.
func TestScriptsNeedNoBash4(t *testing.T) {
	scripts := 0
	for _, dir := range []string{"test", "deploy"} {
		err := filepath.WalkDir("../../"+dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".sh") {
				return err
			}
			scripts++
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for i, line := range strings.Split(string(text), "\n") {
				if found := newerBash.FindString(line); found != "" && !strings.HasPrefix(strings.TrimSpace(line), "#") {
					t.Errorf("%s:%d: %s needs bash 4 or later", path, i+1, found)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if scripts < 10 {
		t.Errorf("only %d scripts were found, want at least 10", scripts)
	}
}
