package crash

import (
	"archive/tar"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// capture is an older version's program, with which the test recreates its testdata:
//
//	go test ./test/crash -run TestUpgrade -capture OLD/bin/ullage
var capture = flag.String("capture", "", "recreate TestUpgrade's files with this older `PROGRAM`")

const (
	upgradeTmpfs = "4m"
	upgradeRate  = 20_000_000
)

// upgrades are the cases: a killed sidecar of commit e138cb4 and the settings of the next sidecar.
var upgrades = []struct {
	name  string
	flags []string
	now   []string // the flags of the next sidecar
	holds string   // the file that must be in use in the state directory, so that the case tests it
}{
	{name: "zstd", flags: []string{"--compress", "zstd", "--sink", "stdout:"}, now: []string{"--compress", "zstd", "--sink", "stdout:"}, holds: "spool"},
	{name: "gzip", flags: []string{"--compress", "gzip"}, now: []string{"--compress", "zstd"}, holds: "spool"}, // gzip is now only read
	{name: "none", flags: []string{"--compress", "none"}, now: []string{"--compress", "none"}, holds: "spool"},
	{name: "hindsight", flags: []string{"--persist-level", "info", "--hindsight", "1h", "--hindsight-on", ""}, now: []string{"--persist-level", "info", "--hindsight", "1h", "--hindsight-on", ""}, holds: "hindsight"},
}

// TestUpgrade starts a sidecar on the files of an older one that was killed while its destination was frozen.
// The new sidecar continues with the segments, the checkpoint, the spool or the held lines, and the cursor of the
// sink. Every line is persisted once, or counted.
func TestUpgrade(t *testing.T) {
	for _, u := range upgrades {
		t.Run(u.name, func(t *testing.T) {
			file := filepath.Join("testdata", "e138cb4-"+u.name+".tar.zst")
			if *capture != "" {
				leave(t, file, u.flags, u.holds)
			}
			dir, source := t.TempDir(), lab.Tmpfs(t, upgradeTmpfs)
			report := unpack(t, file, dir, source)
			dest := filepath.Join(dir, "dest")
			args := []string{"run", "--source", source, "--dest", dest, "--listen", "127.0.0.1:0", "--sync-interval", "100ms", "--retain-age", "0", "--drain-timeout", "60s"}
			cmd := exec.Command(lab.Binary(), slices.Concat(args, u.now)...)
			var printed bytes.Buffer
			cmd.Stdout = &printed
			side, err := lab.StartCommand(cmd)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(side.Kill)
			sinks := slices.Contains(u.now, "--sink")
			if sinks { // a drain does not wait for a sink that has just started
				lab.Eventually(t, lab.Patience, "the sink prints", func() bool {
					lines, err := side.Metric(`ullage_sink_lines_total{sink="stdout"}`)
					return err == nil && lines > 0
				})
			}
			drain(t, side)
			if text := side.Stderr(); strings.Contains(text, "no usable checkpoint") {
				t.Errorf("the older checkpoint was not used:\n%s", text)
			}
			if sinks {
				wantRest(t, dest, printed.String())
			}
			if u.holds == "hindsight" {
				withheld, err := lab.Withheld(source, stream(0))
				if err != nil || withheld.Total() == 0 {
					t.Fatalf("%v withheld, error %v; want some lines withheld and no error", withheld, err)
				}
				account, err := lab.SettleWithheld(dest, stream(0), report, withheld)
				if err != nil || !account.Exact() || account.Persisted.Total() == 0 {
					t.Errorf("%v, error %v; want an exact account with persisted lines and no error", account, err)
				}
				return
			}
			account, err := lab.Settle(dest, stream(0), report)
			if err != nil || !account.Exact() || account.Persisted.Total() == 0 {
				t.Errorf("%v, error %v; want an exact account with persisted lines and no error", account, err)
			}
		})
	}
}

// wantRest checks that the sink continued at the older sidecar's cursor.
func wantRest(t *testing.T, dest, printed string) {
	t.Helper()
	var all bytes.Buffer
	if err := lab.ReadStream(&all, dest, stream(0)); err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(all.String()) {
		want = append(want, stream(0)+" "+line)
	}
	var got []string
	for line := range strings.Lines(printed) {
		if strings.HasPrefix(line, stream(0)+" ") {
			got = append(got, line)
		}
	}
	if len(got) == 0 || len(got) >= len(want) || !slices.Equal(got, want[len(want)-len(got):]) {
		t.Errorf("the sink printed %d lines, want only the last lines of %d", len(got), len(want))
	}
}

// leave runs the older program, kills it in a freeze, and packs the files that it leaves.
func leave(t *testing.T, file string, flags []string, holds string) {
	t.Helper()
	v := lab.MountVolume(t, "2G")
	source, dest := lab.Tmpfs(t, upgradeTmpfs), filepath.Join(v.Dir, "dest")
	args := append([]string{"run", "--source", source, "--dest", dest, "--listen", "127.0.0.1:0", "--sync-interval", "100ms", "--segment-bytes", "256Ki"}, flags...)
	side, err := lab.Start(*capture, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(side.Kill)
	flood := lab.RunFlood(t, lab.Flood{Path: filepath.Join(source, stream(0)), Seed: 1, Rate: upgradeRate})
	lab.Eventually(t, lab.Patience, "lines are persisted", func() bool {
		commits, err := side.Metric("ullage_commit_duration_seconds_count")
		cursors, _ := filepath.Glob(filepath.Join(dest, ".ullage", "sinks", "*.json"))
		return err == nil && commits >= 3 && (len(cursors) > 0 || !slices.Contains(flags, "--sink"))
	})
	thaw := v.Frozen(t)
	lab.Eventually(t, lab.Patience, holds+" is in use", func() bool {
		var st unix.Stat_t
		return unix.Stat(filepath.Join(source, ".ullage", holds), &st) == nil && st.Blocks*512 > 64<<10
	})
	report, err := flood.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if err := side.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	thaw()
	if _, err := side.Wait(lab.Patience); err != nil {
		t.Fatal(err)
	}
	pack(t, file, source, dest, report)
}

// left is the content of the first file of an archive, which describes the other files.
type left struct {
	Report lab.FloodReport
	Files  map[string]identity // of the files in the source, by name
}

// identity is how a sidecar identifies a source file.
type identity struct {
	Dev, Ino uint64
	Born     int64 // Unix time in ns
}

func identify(t *testing.T, path string) identity {
	t.Helper()
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		t.Fatal(err)
	}
	return identity{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino, st.Btime.Sec*1e9 + int64(st.Btime.Nsec)}
}

func pack(t *testing.T, file, source, dest string, report lab.FloodReport) {
	t.Helper()
	about := left{Report: report, Files: map[string]identity{}}
	logs, _ := filepath.Glob(filepath.Join(source, "*.log"))
	for _, log := range logs {
		about.Files[filepath.Base(log)] = identify(t, log)
	}
	var packed bytes.Buffer
	z, err := zstd.NewWriter(&packed, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	add := func(name string, mode fs.FileMode, content []byte) {
		h := &tar.Header{Name: name, Mode: int64(mode.Perm()), Size: int64(len(content)), Typeflag: tar.TypeReg}
		if mode.IsDir() {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(about)
	if err != nil {
		t.Fatal(err)
	}
	add("about.json", 0o644, text)
	for name, dir := range map[string]string{"source": source, "dest": dest} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil || !info.Mode().IsRegular() && !info.IsDir() {
				return err
			}
			if size, _ := unix.Llistxattr(path, nil); size > 0 {
				return fmt.Errorf("%s has attributes, which the archive would lose", path)
			}
			var content []byte
			if !info.IsDir() {
				if content, err = os.ReadFile(path); err != nil {
					return err
				}
			}
			add(name+strings.TrimPrefix(path, dir), info.Mode(), content)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s has %d bytes", file, packed.Len())
}

// unpack restores the packed files and changes the old sidecar's state so that it refers to the
// restored files.
func unpack(t *testing.T, file, dir, source string) lab.FloodReport {
	t.Helper()
	packed, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	z, err := zstd.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var about left
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		path, of := filepath.Join(dir, h.Name), ""
		if name, ok := strings.CutPrefix(h.Name, "source"); ok {
			path, of = filepath.Join(source, name), name
		}
		switch {
		case h.Name == "about.json":
			err = json.Unmarshal(content, &about)
		case of == "" && strings.HasPrefix(h.Name, "source"): // the tmpfs exists already
		case h.Typeflag == tar.TypeDir:
			err = os.MkdirAll(path, fs.FileMode(h.Mode))
		default:
			err = sparse(path, fs.FileMode(h.Mode), content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	key, err := os.ReadFile(filepath.Join(dir, "dest", ".ullage", "key"))
	if err != nil {
		t.Fatal(err)
	}
	for name, was := range about.Files {
		rename(t, filepath.Join(source, ".ullage"), key, was, identify(t, filepath.Join(source, name)))
	}
	// Make the owner's last sign of life old, so that the new sidecar does not wait.
	if err := os.Chtimes(filepath.Join(source, ".ullage", "owner"), time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	return about.Report
}

// sparse writes a file and leaves a hole for each page of zeros: the older sidecar had freed such a
// page.
func sparse(path string, mode fs.FileMode, content []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	defer f.Close()
	const page = 4096
	for at := 0; at < len(content); at += page {
		block := content[at:min(at+page, len(content))]
		if bytes.Count(block, []byte{0}) == len(block) {
			continue
		}
		if _, err := f.WriteAt(block, int64(at)); err != nil {
			return err
		}
	}
	return f.Truncate(int64(len(content)))
}

// rename replaces the identity of a source file in the state directory: in the slots of the checkpoint, which are
// signed again, and in the records of the spool.
func rename(t *testing.T, state string, key []byte, was, is identity) {
	t.Helper()
	text := func(id identity) []byte {
		return fmt.Appendf(nil, `"dev":%d,"ino":%d,"born":%d,`, id.Dev, id.Ino, id.Born)
	}
	renamed := false
	for _, slot := range []string{"checkpoint-0", "checkpoint-1"} {
		path := filepath.Join(state, slot)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		head, rest, _ := bytes.Cut(content, []byte("\n"))
		var length int
		var code, of string
		if _, err := fmt.Sscanf(string(head), "ullage-checkpoint 1 %d %s for %s", &length, &code, &of); err != nil {
			t.Fatal(err)
		}
		renamed = renamed || bytes.Contains(rest[:length], text(was))
		body := bytes.ReplaceAll(rest[:length], text(was), text(is))
		mac := hmac.New(sha256.New, key)
		mac.Write(body)
		content = append(fmt.Appendf(nil, "ullage-checkpoint 1 %d %x for %s\n", len(body), mac.Sum(nil), of), body...)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !renamed {
		t.Fatalf("no checkpoint has %s", text(was))
	}
	spool, err := os.OpenFile(filepath.Join(state, "spool"), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer spool.Close()
	content, err := io.ReadAll(spool)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	for at := 0; at+page <= len(content); at += page {
		record := content[at:]
		if !bytes.HasPrefix(record, []byte("ullspool")) || binary.LittleEndian.Uint64(record[32:]) != was.Ino {
			continue
		}
		head := record[:binary.LittleEndian.Uint32(record[52:])]
		binary.LittleEndian.PutUint64(head[24:], is.Dev)
		binary.LittleEndian.PutUint64(head[32:], is.Ino)
		binary.LittleEndian.PutUint64(head[40:], uint64(is.Born))
		binary.LittleEndian.PutUint32(head[8:], crc32.Checksum(head[16:], crc32.MakeTable(crc32.Castagnoli)))
		if _, err := spool.WriteAt(head, int64(at)); err != nil {
			t.Fatal(err)
		}
	}
}
