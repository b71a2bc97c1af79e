package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// small lets a JVM of each JDK write 2 GiB of numbered messages through a tmpfs of 16 MiB, and looks for each
// message. On a busy machine, the sidecar may be too slow for the JVM. Then it drops messages, which markers count,
// and a JVM that finds the tmpfs full loses messages itself.
func small(e *evidence) (*experiment, error) {
	x := &experiment{
		Name: "small", Title: "2 GiB through a tmpfs of 16 MiB",
		Columns: []column{{"lost", "messages lost"}, {"dropped", "dropped, with a marker"}, {"cut", "not written by the JVM"}, {"twice", "twice"}, {"use", "largest use, MiB"}, {"rate", "MB/s"}},
	}
	dir, err := fresh(e.shm, "small")
	if err != nil {
		return nil, err
	}
	if err := unix.Mount("ullage", dir, "tmpfs", 0, "size=16m"); errors.Is(err, unix.EPERM) {
		x.NotRun = "only root can mount a tmpfs"
		return x, nil
	} else if err != nil {
		return nil, fmt.Errorf("mount a tmpfs: %w", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	for _, jdk := range e.jdks {
		f, err := through(e, jdk, dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", jdk, err)
		}
		x.add(jdk.String(), f)
	}
	return x, nil
}

// through measures one JDK. Its JVM only interprets, because the JVM does not log an exception that compiled code
// both throws and catches.
func through(e *evidence, jdk lab.JDK, source string) (figures, error) {
	const exceptions = 1_550_000 // for each of two threads, which gives over 2 GiB
	dest, err := fresh(e.disk, "small")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dest)
	s, err := e.ship(source, dest)
	if err != nil {
		return nil, err
	}
	defer s.Kill()
	used, done := make(chan int64), make(chan struct{})
	go func() { used <- largestUse(source, done) }()
	started := time.Now()
	out, err := exec.CommandContext(e.ctx, jdk.Java(), "-Xint", "-Xmx96m", "-Xlog:exceptions=info:file="+source+"/gc.log:time,uptime,level,tags:filecount=1,filesize=0",
		"-cp", e.classes, "Numbered", strconv.Itoa(exceptions)).CombinedOutput()
	took := time.Since(started).Seconds()
	close(done)
	largest := <-used
	if err != nil {
		return nil, fmt.Errorf("run the JVM: %w\n%s", err, out)
	}
	if err := s.Stop(10 * time.Minute); err != nil {
		return nil, err
	}
	n, err := countNumbers(dest, exceptions)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(out, []byte("No space left on device")) { // HotSpot reports it once
		n.cut, n.lost = n.lost, 0
	}
	if n.dropped+n.cut == 0 && n.size < 2<<30 {
		err = fmt.Errorf("the JVM wrote %d bytes, want 2 GiB", n.size)
	}
	return figures{"lost": float64(n.lost), "dropped": float64(n.dropped), "cut": float64(n.cut), "twice": float64(n.twice), "use": float64(largest) / (1 << 20), "rate": float64(n.size) / 1e6 / took}, err
}

// largestUse samples the use of a file system until done is closed and returns the largest value.
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

// number matches only the first line of each message: the line that names the catcher lacks "Exception <a".
var number = regexp.MustCompile(`Exception <a [^\n]*SEQ ([01]) (\d+) END`)

// numbers counts the lost, dropped and repeated messages of two threads. Each thread numbers its
// own messages.
type numbers struct {
	size    int64 // bytes that were persisted
	lost    int   // missing, and not covered by markers
	dropped int   // missing, but counted by markers
	cut     int   // missing without a marker, if the JVM found the tmpfs full
	twice   int   // persisted after a later message of the same thread

	next   [2]int // the next number expected from each thread
	marked [2]int // lines that markers count since the thread's last message
}

// countNumbers looks for each number in the persisted log.
func countNumbers(dest string, count int) (*numbers, error) {
	r, w := io.Pipe()
	defer r.Close()
	go func() { w.CloseWithError(lab.ReadStream(w, dest, "gc.log")) }()
	n := &numbers{}
	in := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := in.ReadSlice('\n')
		if len(line) > 0 {
			n.line(line)
		}
		if err == io.EOF {
			n.skip(0, count)
			n.skip(1, count)
			return n, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (n *numbers) line(line []byte) {
	n.size += int64(len(line))
	if m, ok := lab.ParseMarker(line); ok {
		n.marked[0] += m.Lines
		n.marked[1] += m.Lines
	}
	m := number.FindSubmatch(line)
	if m == nil {
		return
	}
	thread := m[1][0] - '0'
	got, _ := strconv.Atoi(string(m[2])) // digits, by the expression
	// The JVM logs an exception once for each frame that the exception passes, all in a row.
	if got < n.next[thread]-1 {
		n.twice++
		return
	}
	if got >= n.next[thread] {
		n.skip(int(thread), got)
		n.next[thread] = got + 1
	}
	n.marked[thread] = 0
}

// skip records as missing the numbers of a thread from the next expected one up to, but not including, below.
func (n *numbers) skip(thread, below int) {
	missing := below - n.next[thread]
	if missing <= n.marked[thread] {
		n.dropped += missing
	} else {
		n.lost += missing
	}
}
