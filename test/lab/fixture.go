package lab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Certificate writes a self-signed certificate for host names and addresses, valid
// for an hour, and its key. It returns the paths of both files.
func Certificate(tb testing.TB, hosts ...string) (cert, key string) {
	tb.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		tb.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	cert, key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	if err := errors.Join(os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)); err != nil {
		tb.Fatal(err)
	}
	return cert, key
}

// DownwardFile returns annotations in the form in which the kubelet writes them into a downward-API volume.
func DownwardFile(annotations map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		fmt.Fprintf(&b, "%v=%q\n", key, annotations[key])
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Needs skips a test on a machine that lacks something. `make test` lists the reasons that begin with "needs". In
// CI that list would not be read, so the test fails there: CI has root and everything that `make setup` installs.
func Needs(tb testing.TB, what string) {
	tb.Helper()
	if os.Getenv("CI") != "" {
		tb.Fatalf("needs %s, want CI to have it", what)
	}
	tb.Skipf("needs %s", what)
}

// NeedsRoot skips a test, with the reason why, unless it runs as root.
func NeedsRoot(tb testing.TB, why string) {
	tb.Helper()
	if os.Geteuid() != 0 {
		Needs(tb, "root: "+why)
	}
}

// NeedsPtrace skips a test, with the reason why, unless it runs as root and has the right to inspect processes of other
// users. Docker removes that right.
func NeedsPtrace(tb testing.TB, why string) {
	tb.Helper()
	NeedsRoot(tb, why)
	var have [2]unix.CapUserData
	if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &have[0]); err != nil {
		tb.Fatal("read the capabilities: ", err)
	}
	if have[0].Effective&(1<<unix.CAP_SYS_PTRACE) == 0 {
		Needs(tb, "the capability CAP_SYS_PTRACE: "+why)
	}
}

// MountTmpfs mounts a tmpfs of the given size on a directory until the test ends.
func MountTmpfs(tb testing.TB, dir, size string) {
	tb.Helper()
	NeedsRoot(tb, "it mounts a tmpfs")
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		Needs(tb, "to mount a tmpfs: "+err.Error())
	}
	tb.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
}

// AsNobody calls f with another user's file permissions. It needs root.
func AsNobody(tb testing.TB, f func()) {
	tb.Helper()
	NeedsRoot(tb, "it accesses files as another user")
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Setfsuid(65534); err != nil {
		tb.Fatal(err)
	}
	defer func() {
		if err := unix.Setfsuid(0); err != nil {
			tb.Fatal(err)
		}
	}()
	f()
}
