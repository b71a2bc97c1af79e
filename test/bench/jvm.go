package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

//go:embed *.java
var sources embed.FS

// compile compiles the Java programs of this package and returns the class path.
func (b *bench) compile(jdk lab.JDK) (string, error) {
	dir := b.path("classes")
	if err := os.CopyFS(dir, sources); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return dir, jdk.Compile(dir, filepath.Join(dir, "Allocate.java"), filepath.Join(dir, "Numbered.java"))
}

// makeUL fills a file with 1 GiB of a real JVM's log at all=trace.
func (b *bench) makeUL(path string) error {
	jdks, err := lab.JDKs()
	if err != nil {
		return err
	}
	classes, err := b.compile(jdks[0])
	if err != nil {
		return err
	}
	raw := b.path("raw")
	defer os.Remove(raw)
	fmt.Printf("  %s writes its log at all=trace for 12 s\n", jdks[0])
	out, err := exec.CommandContext(b.ctx, jdks[0].Java(), "-Xmx96m", "-Xlog:all=trace:file="+raw+":time,uptime,level,tags:filecount=0",
		"-cp", classes, "Allocate", "12").CombinedOutput()
	if err != nil {
		return fmt.Errorf("run the JVM: %w\n%s", err, out)
	}
	text, err := os.ReadFile(raw)
	if err != nil {
		return err
	}
	// Whole lines only, as often as it takes; the last line is cut to fit.
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	fmt.Printf("  %d MiB, %d bytes a line, repeated to 1 GiB\n", len(text)>>20, len(text)/bytes.Count(text, []byte("\n")))
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	for left := gib; left > 0 && err == nil; left -= len(text) {
		if left < len(text) {
			text = append(text[:left-1:left-1], '\n')
		}
		_, err = f.Write(text)
	}
	return errors.Join(err, f.Close())
}

// smallTmpfs lets each JDK write 2 GiB through a tmpfs of 16 MiB, in numbered
// messages, and looks for each of them.
func (b *bench) smallTmpfs() error {
	jdks, err := lab.JDKs()
	if err != nil {
		return err
	}
	classes, err := b.compile(jdks[0])
	if err != nil {
		return err
	}
	dir := b.path("small")
	if err := empty(dir); err != nil {
		return err
	}
	if err := unix.Mount("ullage", dir, "tmpfs", 0, "size=16m"); err != nil {
		b.add("16 MiB tmpfs", "not measured: mounting one needs root", "", true)
		return nil
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	for _, jdk := range jdks {
		if err := b.through(jdk, classes, dir); err != nil {
			return fmt.Errorf("%s: %w", jdk, err)
		}
	}
	return nil
}

// through lets one JDK write. It only interprets: compiled code can throw and
// catch without the JVM, and its log, ever seeing it.
func (b *bench) through(jdk lab.JDK, classes, dir string) error {
	const exceptions = 1_550_000 // of each of two threads: over 2 GiB
	dest := filepath.Join(b.dest, "small")
	if err := empty(dest); err != nil {
		return err
	}
	s, err := b.start(dir, dest)
	if err != nil {
		return err
	}
	used := make(chan int64)
	done := make(chan struct{})
	go func() { used <- largestUse(dir, done) }()
	started := time.Now()
	out, err := exec.CommandContext(b.ctx, jdk.Java(), "-Xint", "-Xmx96m", "-Xlog:exceptions=info:file="+dir+"/gc.log:time,uptime,level,tags:filecount=1,filesize=0",
		"-cp", classes, "Numbered", strconv.Itoa(exceptions)).CombinedOutput()
	took := time.Since(started).Seconds()
	close(done)
	largest := <-used
	if err != nil {
		return fmt.Errorf("run the JVM: %w\n%s", err, out)
	}
	if err := s.stop(); err != nil {
		return err
	}
	size, lost, twice, err := countNumbers(dest, exceptions)
	if err != nil {
		return err
	}
	b.add(fmt.Sprintf("16 MiB tmpfs, %s: lost, twice of %.1f GiB at %.0f MB/s", jdk, float64(size)/gib, float64(size)/1e6/took),
		fmt.Sprintf("%d, %d", lost, twice), "0, 0", lost == 0 && twice == 0 && size >= 2*gib)
	b.add(fmt.Sprintf("16 MiB tmpfs, %s: largest use", jdk), fmt.Sprintf("%.1f MiB", float64(largest)/(1<<20)), "4.0 MiB", largest <= 4<<20)
	return os.RemoveAll(dest)
}

// largestUse asks the file system for its use, often, until done is closed.
func largestUse(dir string, done <-chan struct{}) (largest int64) {
	for {
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err == nil {
			largest = max(largest, int64(st.Blocks-st.Bfree)*int64(st.Bsize))
		}
		select {
		case <-done:
			return largest
		case <-time.After(time.Millisecond):
		}
	}
}

// number is in the header line of each message; "Exception <a" is not in the
// line that says who catches it.
var number = regexp.MustCompile(`Exception <a [^\n]*SEQ ([01]) (\d+) END`)

// countNumbers looks for each number in what was persisted. The JVM logs an
// exception once for each frame that it passes, all in a row, so only a number
// that comes back after another one of its thread is there twice.
func countNumbers(dest string, count int) (size int64, lost, twice int, err error) {
	r, w := io.Pipe()
	go func() { w.CloseWithError(lab.ReadStream(w, dest, "gc.log")) }()
	var seen [2][]bool
	seen[0], seen[1] = make([]bool, count), make([]bool, count)
	last := [2]int{-1, -1}
	err = eachLine(r, func(line []byte) {
		size += int64(len(line))
		m := number.FindSubmatch(line)
		if m == nil {
			return
		}
		thread := m[1][0] - '0'
		n, _ := strconv.Atoi(string(m[2]))
		if n != last[thread] && seen[thread][n] {
			twice++
		}
		seen[thread][n], last[thread] = true, n
	})
	for _, thread := range seen {
		for _, ok := range thread {
			if !ok {
				lost++
			}
		}
	}
	return size, lost, twice, err
}
