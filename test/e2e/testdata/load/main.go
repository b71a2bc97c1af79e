// Command load repeatedly sends an AdmissionReview, read from stdin, to a webhook at a steady rate, and prints the
// results as JSON. A request is sent at its due time, whether or not earlier requests are answered, and its duration
// is from that time to the end of the answer. Meanwhile load reads the memory of the webhook from its metrics.
//
//	load URL METRICS_URL RATE SECONDS
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Result is what the program prints.
type Result struct {
	Sent, Patched int           // the number of reviews, and of answers with a patch
	Error         string        // the last error
	P50, P99, Max time.Duration // of all reviews
	Resident      int64         // the most memory that the webhook reported, in bytes
	Samples       int           // how often it reported its memory
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("%d arguments, and not URL METRICS_URL RATE SECONDS", len(args))
	}
	rate, err1 := strconv.Atoi(args[2])
	seconds, err2 := strconv.Atoi(args[3])
	if err1 != nil || err2 != nil || rate <= 0 || seconds <= 0 {
		return fmt.Errorf("rate and seconds are %q and %q", args[2], args[3])
	}
	review, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	l := &load{url: args[0], review: review, client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true}, // the certificate is not part of the measurement
		ForceAttemptHTTP2:   true,                                  // as API servers do
		MaxIdleConnsPerHost: 25,
	}}}
	done, sampled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sampled)
		l.sample(args[1], done)
	}()
	l.send(rate, seconds)
	close(done)
	<-sampled
	return json.NewEncoder(os.Stdout).Encode(l.Result)
}

type load struct {
	url    string
	review []byte
	client *http.Client

	mu sync.Mutex // guards the fields below
	Result
}

func (l *load) send(rate, seconds int) {
	took := make([]time.Duration, rate*seconds)
	interval := time.Second / time.Duration(rate)
	var work sync.WaitGroup
	first := time.Now()
	for i := range took {
		due := first.Add(time.Duration(i) * interval)
		time.Sleep(time.Until(due))
		work.Go(func() {
			err := l.post()
			took[i] = time.Since(due)
			l.note(err)
		})
	}
	work.Wait()
	slices.Sort(took)
	l.P50, l.P99, l.Max = took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
}

func (l *load) post() error {
	resp, err := l.client.Post(l.url, "application/json", bytes.NewReader(l.review))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer struct {
		Response struct {
			Allowed bool
			Patch   []byte
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return err
	}
	if !answer.Response.Allowed || len(answer.Response.Patch) == 0 {
		return fmt.Errorf("an answer without a patch: %+v", answer)
	}
	return nil
}

func (l *load) note(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Sent++
	if err != nil {
		l.Error = err.Error()
		return
	}
	l.Patched++
}

// sample reads the webhook's memory four times a second.
func (l *load) sample(url string, done chan struct{}) {
	for tick := time.NewTicker(250 * time.Millisecond); ; {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		if bytes, err := resident(url); err == nil {
			l.mu.Lock()
			l.Resident, l.Samples = max(l.Resident, bytes), l.Samples+1
			l.mu.Unlock()
		}
	}
}

func resident(url string) (int64, error) {
	resp, err := http.Get(url)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), "process_resident_memory_bytes "); ok {
			f, err := strconv.ParseFloat(value, 64)
			return int64(f), err
		}
	}
	return 0, fmt.Errorf("%s does not report its memory", url)
}
