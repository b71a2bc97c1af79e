package webhook

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
)

// BenchmarkReview handles one review of a usual size. Its Mutate reads the pod and returns a patch of 4 KiB.
func BenchmarkReview(b *testing.B) {
	h, _, _ := testHandler(false)
	h.mutate = mutateBench
	text := benchBody()
	b.ReportAllocs()
	for b.Loop() {
		if w := post(h, text); w.Code != 200 {
			b.Fatal(w.Code)
		}
	}
}

// BenchmarkServer sends 100 reviews a second over TLS, on a fixed schedule that does not wait for earlier answers. It
// prints the time of the reviews and the memory of the process, which includes the clients. -benchtime 1000x takes ten
// seconds.
func BenchmarkServer(b *testing.B) {
	url := start(b, mutateBench, 0).url()
	text := benchBody()
	took := make([]time.Duration, b.N)
	var work sync.WaitGroup
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 25}}
	defer client.CloseIdleConnections()
	first := time.Now()
	b.ResetTimer()
	for i := range took {
		due := first.Add(time.Duration(i) * 10 * time.Millisecond)
		time.Sleep(time.Until(due))
		work.Go(func() {
			resp, err := client.Post(url, "application/json", strings.NewReader(text))
			if err != nil {
				b.Error(err)
				return
			}
			var a admissionv1.AdmissionReview
			if err := json.NewDecoder(resp.Body).Decode(&a); err != nil || len(a.Response.Patch) == 0 {
				b.Errorf("error %v, the answer is %+v; want no error and a patch", err, a)
			}
			resp.Body.Close()
			took[i] = time.Since(due)
		})
	}
	work.Wait()
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
	b.ReportMetric(residentMiB(b), "resident-MiB")
}

// benchBody returns a review of 10 KiB.
func benchBody() string {
	var fields []string
	for i := range 120 {
		fields = append(fields, fmt.Sprintf(`{"name":"VARIABLE_%d","value":"some value that a container is given, number %d"}`, i, i))
	}
	return body("web", `"new":{"field":1}`, `"containers":[{"name":"app","env":[`+strings.Join(fields, ",")+`]}]`)
}

func mutateBench(pod []byte, _ string) (Decision, error) {
	var v map[string]any
	if err := json.Unmarshal(pod, &v); err != nil {
		return Decision{}, err
	}
	ops := []map[string]string{}
	for range 16 {
		ops = append(ops, map[string]string{"op": "add", "path": "/spec/initContainers/-", "value": strings.Repeat("x", 200)})
	}
	patch, err := json.Marshal(ops)
	return Decision{Patch: patch, Injected: true, Warnings: []string{"a warning"}}, err
}

// residentMiB returns the resident memory of the process.
func residentMiB(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("no /proc")
	}
	_, rest, _ := bytes.Cut(text, []byte("VmRSS:"))
	var kib float64
	if _, err := fmt.Sscan(string(rest), &kib); err != nil {
		b.Fatal(err)
	}
	return kib / 1024
}
