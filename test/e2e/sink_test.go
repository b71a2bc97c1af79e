package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// A pod without a persistent volume sends its log to an S3 server in the cluster, with credentials from a Secret.
// After the pod was deleted, the log is read back from the bucket.
func TestLogOfADeletedPodIsInTheBucket(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	bucket, _ := serveBucket(s, "http")
	s.apply(manifest(object{
		"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": "bucket"},
		"stringData": object{"AWS_ACCESS_KEY_ID": bucketKey, "AWS_SECRET_ACCESS_KEY": bucketKey, "ULLAGE_DEST": "/tmp/elsewhere"},
	}))
	s.apply(jvmPod{
		Name: "app", JDK: 25, Java: []string{"Churn", "6000", "60"}, After: linger, Grace: 120,
		Annotations: map[string]string{"sink": bucket, "sink-secret": "bucket", "drain-timeout": "100s"},
	}.manifest())
	s.ready("app")
	written := writtenBy(s, "app", "app")
	image := s.field("pod/app", ".spec.initContainers[0].image")
	if status := s.exec("app", "ullage", "ullage", "status"); strings.Contains(status, bucketKey) || !strings.Contains(status, "sink s3") {
		t.Errorf("want \"sink s3\" and not the bucket's key in the sidecar's status:\n%s", status)
	}
	s.kubectl("delete", "pod", "app", "--wait", "--timeout=3m")

	s.apply(manifest(object{
		"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": "reader", "labels": object{"e2e": "pod"}},
		"spec": object{
			"restartPolicy": "Never",
			"containers": []any{object{
				"name": "reader", "image": image, "args": []any{"logs", bucket + "&pod=app"},
				"envFrom": []any{object{"secretRef": object{"name": "bucket"}}},
			}},
		},
	}))
	s.waitFor("pod/reader", "jsonpath={.status.phase}=Succeeded", 2*time.Minute)
	same(s.T, written, s.kubectl("logs", "reader"))
}

const bucketKey = "e2e-e2e-e2e"

// serveBucket starts an S3 server in a pod and returns the URL of a bucket for a sink. With the
// scheme https, a private authority has signed the server's certificate, and ca is the file of the
// authority's certificate.
func serveBucket(s *space, scheme string) (bucket, ca string) {
	s.Helper()
	program, err := lab.S3Program.Build(s.Logf)
	if err != nil {
		s.Fatal(err)
	}
	const pod = "bucket"
	startTools(s, pod)
	copyTo(s, pod, program, "/tmp/versitygw")
	address, secure := s.field("pod/"+pod, ".status.podIP"), ""
	if scheme == "https" {
		var key string
		ca, key = lab.Certificate(s, address)
		copyTo(s, pod, ca, "/tmp/tls.crt")
		copyTo(s, pod, key, "/tmp/tls.key")
		secure = " --cert /tmp/tls.crt --key /tmp/tls.key"
	}
	s.exec(pod, "tools", "sh", "-c", "mkdir -p /tmp/root/logs /tmp/meta && /tmp/versitygw --access "+bucketKey+" --secret "+bucketKey+secure+
		" --port :7070 --quiet posix --sidecar /tmp/meta /tmp/root </dev/null >/tmp/log 2>&1 &")
	const listens = ":1B9E 0*:0000 0A" // the port, and the state LISTEN
	until(s, pod, "tools", "the S3 server listens", "grep -q '"+listens+"' /proc/net/tcp /proc/net/tcp6")
	return "s3://logs/e2e?endpoint=" + scheme + "://" + address + ":7070&region=us-east-1&path-style=true", ca
}
