package s3

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// listed lists the bucket of a server. It returns the keys of the segments, how many bytes the heap
// grew by, and the error that ended the listing.
func listed(t *testing.T, most int, page func(w io.Writer, token string)) (keys []string, grown int64, failed error) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "<ListBucketResult>")
		page(w, r.URL.Query().Get("continuation-token"))
		_, _ = io.WriteString(w, "</ListBucketResult>")
	}))
	defer s.Close()
	defer s.CloseClientConnections()
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	r, err := OpenBucket("s3://logs/prod?region=x&path-style=true&endpoint=" + s.URL)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for o, err := range r.Objects(t.Context()) {
		if err != nil {
			failed = err
			break
		}
		if keys = append(keys, o.Key); len(keys) >= most {
			break
		}
	}
	runtime.ReadMemStats(&after)
	return keys, int64(after.HeapSys) - int64(before.HeapSys), failed
}

func keyOf(pod string, n int) string {
	return fmt.Sprintf("prod/log/namespace=shop/pod=%s/container=app/stream=gc.log/date=2026-11-22/20261122T100000.000Z-%06d.log.zst", pod, n)
}

func contents(key string) string { return "<Contents><Key>" + key + "</Key><Size>1</Size></Contents>" }

const truncated = "<IsTruncated>true</IsTruncated><NextContinuationToken>more</NextContinuationToken>"

// A server begins the list again with each page. The listing must end all the same.
func TestAListingThatRepeatsItselfEnds(t *testing.T) {
	keys, _, err := listed(t, 1000, func(w io.Writer, _ string) {
		fmt.Fprint(w, truncated, contents(keyOf("web-0", 1)), contents(keyOf("web-0", 2)))
	})
	if len(keys) != 2 || err == nil || !strings.Contains(err.Error(), "order") {
		t.Errorf(`%d keys, error %v; want 2 keys and an error with "order"`, len(keys), err)
	}
}

// A reader of endless pages of the largest size holds one page at a time.
func TestAListingWithoutEndInBoundedMemory(t *testing.T) {
	n := 0
	const most = 200_000
	keys, grown, err := listed(t, most, func(w io.Writer, _ string) {
		fmt.Fprint(w, strings.Replace(truncated, "more", fmt.Sprint("page", n), 1))
		for range 8000 { // about 1.4 MiB
			n++
			_, _ = io.WriteString(w, contents(keyOf(fmt.Sprintf("web-%09d", n), 1)))
		}
	})
	t.Logf("%d keys in pages of 8,000: the heap grew by %d KiB", len(keys), grown>>10)
	if len(keys) != most || err != nil || grown > 96<<20 {
		t.Errorf("%d keys, error %v, the heap grew by %d MiB; want %d keys, no error and at most 96 MiB", len(keys), err, grown>>20, most)
	}
}

// A page has as many objects as fit into an answer.
func TestAListingOfTheShortestEntries(t *testing.T) {
	_, grown, err := listed(t, 10, func(w io.Writer, _ string) {
		_, _ = io.WriteString(w, strings.Repeat("<Contents/>", maxAnswer/len("<Contents/>")-100))
	})
	t.Logf("the heap grew by %d MiB, error %v", grown>>20, err)
	if err == nil || grown > 64<<20 {
		t.Errorf("the heap grew by %d MiB, want at most 64 MiB and an error", grown>>20)
	}
}

// Only a key that an upload can have made names a segment.
func TestOddKeysAreNotSegments(t *testing.T) {
	good := keyOf("web-0", 1)
	odd := []string{
		"prod/log/", "prod/log/x", "prod/log/../../etc/passwd", strings.Repeat("a/", 500), "other/" + good,
		strings.Replace(good, "namespace=shop", "namespace=%2e%2e%2Fup", 1), // an upload escapes it differently
		strings.Replace(good, "pod=", "pod=%zz", 1),
		strings.Replace(good, "date=2026-11-22", "date=1999-01-01", 1),
		strings.Replace(good, ".log.zst", ".log.exe", 1),
		strings.Replace(good, "stream=gc.log", "stream=", 1),
		good + "/x", good + " ", strings.Replace(good, "shop", "sh\u202eop", 1),
	}
	slices.Sort(odd)
	keys, _, err := listed(t, 100, func(w io.Writer, _ string) {
		all := append(slices.Clone(odd), good)
		slices.Sort(all)
		for _, key := range all {
			fmt.Fprint(w, contents(key))
		}
	})
	if err != nil || !slices.Equal(keys, []string{good}) {
		t.Errorf("segments: %q, error %v; want only %q and no error", keys, err, good)
	}
}

// A server repeats the same page without segments. The requests must end all the same.
func TestEmptyPagesThatRepeatEnd(t *testing.T) {
	_, _, err := listed(t, 10, func(w io.Writer, _ string) { fmt.Fprint(w, truncated) })
	if err == nil || !strings.Contains(err.Error(), "keeps returning the same page") {
		t.Errorf(`the error is %v, want "keeps returning the same page" in it`, err)
	}
}
