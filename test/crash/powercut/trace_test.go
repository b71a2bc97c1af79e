package powercut

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// call is one successful system call of a traced process.
type call struct {
	name   string
	args   []string
	result int64
}

// traced are the calls that strace records: those with which the sidecar may change a file's content, an extended
// attribute, a name or a directory, or make a change durable. In the destination, its chmod calls change nothing.
// [disk.apply] refuses calls that the model does not know.
const traced = "openat,open,creat,write,pwrite64,writev,pwritev,pwritev2,ftruncate,truncate,fallocate,fsync,fdatasync,sync,syncfs," +
	"sync_file_range,rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,mkdir,mkdirat,rmdir,mknodat," +
	"copy_file_range,sendfile,splice,fsetxattr,setxattr,lsetxattr,fremovexattr,mmap"

// mostTraced is the longest argument that strace prints. It is longer than any write of the sidecar.
const mostTraced = 4 << 20

// readTrace reads the output of strace. If calls of several threads overlap, they are in the order in which they
// returned.
func readTrace(path string) ([]call, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the trace: %w", err)
	}
	defer f.Close()
	var calls []call
	begun := map[string]string{} // by thread
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 8*mostTraced)
	for lines.Scan() {
		thread, text, _ := strings.Cut(lines.Text(), " ")
		text = strings.TrimLeft(text, " ")
		if strings.HasPrefix(text, "---") || strings.HasPrefix(text, "+++") {
			continue
		}
		if head, ok := strings.CutSuffix(text, " <unfinished ...>"); ok {
			begun[thread] = head
			continue
		}
		if strings.HasPrefix(text, "<... ") {
			_, rest, _ := strings.Cut(text, " resumed>")
			text = begun[thread] + rest
			delete(begun, thread)
		}
		if c, ok, err := parseCall(text); err != nil {
			return nil, err
		} else if ok {
			calls = append(calls, c)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the trace: %w", err)
	}
	return calls, nil
}

var callForm = regexp.MustCompile(`^(\w+)\((.*)\)\s+= (-?\w+|\?)`)

// parseCall returns false for a call that failed or was interrupted by a kill.
func parseCall(text string) (c call, ok bool, err error) {
	found := callForm.FindStringSubmatch(text)
	if found == nil {
		return c, false, fmt.Errorf("read the trace: %.200q is not a call", text)
	}
	if found[3] == "?" || strings.HasPrefix(found[3], "-") {
		return c, false, nil
	}
	result, err := strconv.ParseInt(found[3], 0, 64)
	if err != nil && found[1] != "mmap" { // mmap returns an address
		return c, false, fmt.Errorf("read the trace: the result of %.200q: %w", text, err)
	}
	// With -xx, all strings are hexadecimal, so in the calls that the model knows, a comma and a blank occur only
	// between arguments.
	return call{name: found[1], args: strings.Split(found[2], ", "), result: result}, true, nil
}

// bytes returns the decoded text of an argument.
func (c call) bytes(arg int) ([]byte, error) {
	text, ok := strings.CutPrefix(c.args[arg], `"`)
	text, whole := strings.CutSuffix(text, `"`)
	if !ok || !whole {
		return nil, fmt.Errorf("read the trace: argument %d of %s is not a complete string", arg, c.name)
	}
	return unhex(text)
}

func unhex(text string) ([]byte, error) {
	data, err := hex.DecodeString(strings.ReplaceAll(text, `\x`, ""))
	if err != nil {
		return nil, fmt.Errorf("read the trace: %w", err)
	}
	return data, nil
}

func (c call) number(arg int) int64 {
	n, _ := strconv.ParseInt(c.args[arg], 0, 64) // strace prints offsets and sizes as integers
	return n
}

// descriptor returns the number and the path of a descriptor, which strace prints in the form
// 3<path>.
func (c call) descriptor(arg int) (fd int, path string) {
	number, rest, _ := strings.Cut(c.args[arg], "<")
	rest, mark, _ := strings.Cut(rest, ">")
	text, err := unhex(rest)
	if err != nil {
		return -1, ""
	}
	fd, _ = strconv.Atoi(number)
	return fd, string(text) + mark
}

// deleted is the end of a descriptor's path if its file has been deleted.
const deleted = "(deleted)"

// path returns the path for two arguments: the descriptor of a directory, and a name relative to
// it.
func (c call) path(at int) (string, error) {
	name, err := c.bytes(at + 1)
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(string(name), "/") {
		return string(name), nil
	}
	_, dir := c.descriptor(at)
	return dir + "/" + string(name), nil
}
