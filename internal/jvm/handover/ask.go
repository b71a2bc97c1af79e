package handover

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// MaxAsked bounds the line that [Ask] writes, in bytes.
const MaxAsked = maxFiles * (maxName + 128)

// Part is the beginning of a file that a reader already has.
type Part struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Sum  string `json:"sum"` // the SHA-256 of these bytes, in hexadecimal digits
}

// Ask tells a writer which parts of the copy a directory already has.
func Ask(to io.Writer, dir string) error {
	parts := []Part{}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the directory: %w", err)
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		p, err := partOf(root, name)
		parts = append(parts, p)
		return err
	})
	if err != nil {
		return fmt.Errorf("read the files received so far: %w", err)
	}
	if err := json.NewEncoder(to).Encode(parts); err != nil {
		return fmt.Errorf("send the list of files received so far: %w", err)
	}
	return nil
}

func partOf(root *os.Root, name string) (Part, error) {
	f, err := root.Open(name)
	if err != nil {
		return Part{}, err
	}
	defer f.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	return Part{Name: name, Size: size, Sum: hex.EncodeToString(sum.Sum(nil))}, err
}

// Asked reads the line that [Ask] has written.
func Asked(from *bufio.Reader) ([]Part, error) {
	line, err := from.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("read the reader's list of files: %w", err)
	}
	var parts []Part
	if err := json.Unmarshal(line, &parts); err != nil {
		return nil, fmt.Errorf("decode the reader's list of files: %w", err)
	}
	return parts, nil
}
