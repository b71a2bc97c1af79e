package s3

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/encrypt"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/sink"
	"github.com/ullage/ullage/internal/sink/transport"
)

// Bounds of the protocol.
const (
	leastPart = 5 * settings.Mi
	mostPart  = 5 * settings.Gi
)

// Bucket is a place in a bucket, with a client. Make one with [Parse].
type Bucket struct {
	client *minio.Core
	pauses *pauses

	Name   string
	Prefix string // without slashes around it; may be empty

	part         settings.Size
	encryption   encrypt.ServerSide // nil: the default of the bucket
	storageClass string
}

// Parse reads the URL of a bucket and its options.
func Parse(u *url.URL, o *sink.Options) (*Bucket, error) {
	b := &Bucket{Name: u.Host, Prefix: strings.Trim(u.Path, "/"), pauses: &pauses{patience: transport.AnswerTimeout},
		part:         o.Size("part-size", 128*settings.Mi, "larger segments are uploaded in parts of this size"),
		storageClass: o.Text("storage-class", "", "of each object: by default as the bucket says")}
	endpoint := o.Text("endpoint", "https://s3.amazonaws.com", "`https://HOST[:PORT]`, or `http://…`")
	region := o.Text("region", os.Getenv("AWS_REGION"), "by default `AWS_REGION`")
	pathStyle := o.Bool("path-style", false, "the bucket in the path instead of in the host name; most servers other than Amazon's need `true`")
	encryption := o.Text("sse", "", "encryption by the server: `s3`, or `kms:KEY`; by default as the bucket says")
	trust, untrusted := transport.TrustOf(o)
	from := o.Text("credentials", "auto",
		"`env` (`AWS_ACCESS_KEY_ID`, …), `file:PATH` (an AWS credentials file), "+
			"`role` (web identity, pod identity, instance metadata) or `none`; `auto` tries the first three in this order")
	profile := o.Text("profile", "", "the profile in the credentials file")
	if err := o.Done(); err != nil {
		return nil, err
	}
	if b.Name == "" {
		return nil, errors.New("no bucket: use s3://BUCKET/PREFIX")
	}
	if b.part < leastPart || b.part > mostPart {
		return nil, fmt.Errorf("option part-size=%s is out of range: %s to %s", b.part, leastPart, mostPart)
	}
	to, err := url.Parse(endpoint)
	if err == nil && to.User != nil {
		return nil, errors.New("option endpoint must not hold a user or password: use the environment or a file")
	}
	if err != nil || to.Host == "" || to.Scheme != "https" && to.Scheme != "http" || strings.Trim(to.Path, "/") != "" {
		return nil, fmt.Errorf("option endpoint=%q: use https://HOST, or http://HOST", endpoint)
	}
	if b.encryption, err = encryptionOf(encryption, to.Scheme); err != nil {
		return nil, err
	}
	if untrusted != nil {
		return nil, untrusted
	}
	if b.pauses.inner, err = transport.HTTP(trust); err != nil {
		return nil, err
	}
	keys, err := credentialsOf(from, profile, region, trust)
	if err != nil {
		return nil, err
	}
	lookup := minio.BucketLookupAuto
	if pathStyle {
		lookup = minio.BucketLookupPath
	}
	b.client, err = minio.NewCore(to.Host, &minio.Options{Creds: keys, Secure: to.Scheme == "https", Region: region,
		BucketLookup: lookup, Transport: b.pauses, TrailingHeaders: to.Scheme == "https", MaxRetries: 1}) // the worker repeats
	if err != nil {
		return nil, fmt.Errorf("make the client: %w", err)
	}
	b.client.SetAppInfo("ullage", "1")
	return b, nil
}

// credentialsOf returns the source of the keys. They are looked up when they are needed, and
// again when they expire. Connections to the service that issues a role's keys have the same
// certificates and bounds as connections to the bucket.
func credentialsOf(from, profile, region string, trust transport.Trust) (*credentials.Credentials, error) {
	inner, err := transport.HTTP(trust)
	if err != nil {
		return nil, err
	}
	environment := &credentials.EnvAWS{}
	role := &credentials.IAM{Region: region, // web identity, pod identity, instance metadata
		Client: &http.Client{Timeout: transport.ConnectTimeout, Transport: bounded{inner}}}
	kind, path, _ := strings.Cut(from, ":")
	switch kind {
	case "auto":
		return credentials.NewChainCredentials([]credentials.Provider{environment, &credentials.FileAWSCredentials{Profile: profile}, role}), nil
	case "env":
		return credentials.New(environment), nil
	case "file":
		return credentials.New(&credentials.FileAWSCredentials{Filename: path, Profile: profile}), nil
	case "role":
		return credentials.New(role), nil
	case "none":
		return credentials.NewStaticV4("", "", ""), nil
	}
	return nil, fmt.Errorf("option credentials=%q: use auto, env, file:PATH, role or none", from)
}

// encryptionOf returns the encryption that the server must use.
func encryptionOf(option, scheme string) (encrypt.ServerSide, error) {
	kind, key, _ := strings.Cut(option, ":")
	switch {
	case option == "":
		return nil, nil
	case option == "s3":
		return encrypt.NewSSE(), nil
	case kind == "kms" && key != "":
		if scheme != "https" {
			return nil, errors.New("option sse=kms needs an endpoint with https")
		}
		return encrypt.NewSSEKMS(key, nil)
	}
	return nil, fmt.Errorf("option sse=%q: use s3 or kms:KEY", option)
}
