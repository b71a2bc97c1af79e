package e2e

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// sampling is how many times a second a container reports its memory.
const sampling = 5

// Measures how much memory a JVM's container is charged for a log of 20 MB/s. All of it is shmem: the tmpfs is
// charged to the container that writes to it. Two pods run at the same time: one with the default reclaim, and one
// without reclaim, for comparison.
func TestLogMemoryCost(t *testing.T) {
	s := newSpace(t)
	long := 20 * time.Second
	if os.Getenv("ULLAGE_E2E_LONG") != "" {
		long = time.Minute
	}
	pods := []*flooded{
		{name: "defaults", lasts: long, whole: time.Minute, limit: "4.0 MiB", annotations: map[string]string{"buffer": "128Mi"}},
		{name: "reclaim none", lasts: 20 * time.Second, whole: 20 * time.Second, annotations: map[string]string{"buffer": "512Mi", "reclaim": "none"}},
	}
	for _, f := range pods {
		s.apply(f.pod().manifest())
	}
	var work sync.WaitGroup
	for _, f := range pods {
		s.ready(f.pod().Name)
		work.Go(func() { f.err = f.sample(s) })
	}
	work.Wait()
	for _, f := range pods {
		if f.err != nil {
			t.Fatalf("%s: %v, want no error", f.name, f.err)
		}
		lasts := f.lasts.String()
		if f.lasts < f.whole {
			lasts += " (" + f.whole.String() + " with ULLAGE_E2E_LONG)"
		}
		t.Logf("%s: %.1f MB/s, shmem %v", f.name, f.rate/1e6, f.shmem)
		figures.add(fmt.Sprintf("memory of a JVM's container for its log, %s, %s, %d times a second: most", f.name, lasts, sampling),
			fmt.Sprintf("%s (median %s) at %.1f MB/s", inMiB(slices.Max(f.shmem)), inMiB(f.median()), f.rate/1e6), f.limit)
	}
	// If one of these checks fails, the measured memory was not that of the log, or reclaim freed none.
	with, none := pods[0], pods[1]
	if most := float64(slices.Max(none.shmem)); most < none.rate*none.lasts.Seconds()/2 {
		t.Errorf("without reclaim, the most shmem is %.0f bytes, want at least half of what is logged in %s at %.0f bytes/s", most, none.lasts, none.rate)
	}
	if slices.Max(with.shmem) > slices.Max(none.shmem)/4 {
		t.Errorf("%s: %d bytes of shmem, want at most a quarter of the %d without reclaim", with.name, slices.Max(with.shmem), slices.Max(none.shmem))
	}
}

// flooded is a pod with a JVM that logs 20 MB/s, and its measurements.
type flooded struct {
	name, limit  string
	lasts, whole time.Duration // how long the pod is measured in this run and in a full run
	annotations  map[string]string

	rate  float64 // bytes a second that were logged and read
	shmem []int64 // bytes
	err   error
}

func (f *flooded) pod() jvmPod {
	annotations := map[string]string{"xlog": "exceptions=info"}
	for key, value := range f.annotations {
		annotations[key] = value
	}
	return jvmPod{
		Name: notInNames.ReplaceAllString(strings.ToLower(f.name), "-"), JDK: 17, Memory: "768Mi", Grace: 1, Annotations: annotations,
		// The C2 compiler turns such a throw into a jump, which is not logged.
		Java: []string{"-XX:TieredStopAtLevel=1", "Throw", "1000000000", "3000", "6100"},
	}
}

// sample measures the pod for f.lasts.
func (f *flooded) sample(s *space) error {
	pod := f.pod().Name
	before, err := metric(s, pod, "ullage_read_bytes_total")
	if err != nil {
		return err
	}
	begun := time.Now()
	out, err := s.tryExec(pod, "app", "sh", "-c", fmt.Sprintf(`
		stat=/sys/fs/cgroup/memory/memory.stat # of cgroup v1
		[ -f $stat ] || stat=/sys/fs/cgroup/memory.stat
		end=$(($(date +%%s) + %d))
		while [ $(date +%%s) -lt $end ]; do sed -n 's/^shmem //p' $stat; sleep %g; done`, int(f.lasts.Seconds()), 1./sampling))
	if err != nil {
		return err
	}
	seconds := time.Since(begun).Seconds()
	after, err := metric(s, pod, "ullage_read_bytes_total")
	if err != nil {
		return err
	}
	f.rate = (after - before) / seconds
	for _, word := range strings.Fields(out) {
		bytes, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return fmt.Errorf("shmem in memory.stat: %w", err)
		}
		f.shmem = append(f.shmem, bytes)
	}
	if len(f.shmem) < int(f.lasts.Seconds()) {
		return fmt.Errorf("memory.stat reported shmem %d times in %s", len(f.shmem), f.lasts)
	}
	return nil
}

func (f *flooded) median() int64 { return slices.Sorted(slices.Values(f.shmem))[len(f.shmem)/2] }

// metric returns the sum of a sidecar's metric over all labels.
func metric(s *space, pod, name string) (sum float64, err error) {
	text, err := kubectl("", "get", "--raw", "/api/v1/namespaces/"+s.name+"/pods/"+pod+":9919/proxy/metrics")
	if err != nil {
		return 0, err
	}
	found := false
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if base, _, _ := strings.Cut(key, "{"); base != name {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("metric %s: %w", key, err)
		}
		sum, found = sum+v, true
	}
	if !found {
		return 0, fmt.Errorf("pod %s has no metric %s", pod, name)
	}
	return sum, nil
}
