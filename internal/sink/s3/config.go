package s3

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/encrypt"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/sink/address"
	"github.com/ullage/ullage/internal/sink/transport"
)

// Bucket is a bucket with a prefix for keys, and a client. Create one with [Parse].
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
func Parse(u *url.URL, o *address.Options) (*Bucket, error) {
	given, err := address.ParseS3(u, o)
	if err != nil {
		return nil, err
	}
	b := &Bucket{Name: given.Bucket, Prefix: given.Prefix, pauses: &pauses{patience: transport.AnswerTimeout},
		part: given.PartSize, storageClass: given.StorageClass}
	if b.encryption, err = encryptionOf(given); err != nil {
		return nil, err
	}
	trust, err := transport.TrustOf(given.Files)
	if err != nil {
		return nil, err
	}
	b.pauses.inner = transport.HTTP(trust)
	region, to := cmp.Or(given.Region, os.Getenv("AWS_REGION")), given.Endpoint
	keys := credentialsOf(given, region, trust)
	lookup := minio.BucketLookupAuto
	if given.PathStyle {
		lookup = minio.BucketLookupPath
	}
	b.client, err = minio.NewCore(to.Host, &minio.Options{Creds: keys, Secure: to.Scheme == "https", Region: region,
		BucketLookup: lookup, Transport: b.pauses, TrailingHeaders: to.Scheme == "https", MaxRetries: 1}) // the worker repeats failed requests
	if err != nil {
		return nil, fmt.Errorf("make the client: %w", err)
	}
	b.client.SetAppInfo("ullage", "1")
	return b, nil
}

// credentialsOf returns the source of the keys. They are looked up when they are needed, and
// again when they expire. Connections to the service that issues a role's keys use the same
// certificates and bounds as connections to the bucket.
func credentialsOf(given address.S3, region string, trust transport.Trust) *credentials.Credentials {
	environment := &credentials.EnvAWS{}
	role := &credentials.IAM{Region: region, // web identity, pod identity, instance metadata
		Client: &http.Client{Timeout: transport.ConnectTimeout, Transport: bounded{transport.HTTP(trust)}}}
	file := &credentials.FileAWSCredentials{Filename: given.CredentialsFile, Profile: given.Profile}
	switch given.Credentials {
	case "env":
		return credentials.New(environment)
	case "file":
		return credentials.New(file)
	case "role":
		return credentials.New(role)
	case "none":
		return credentials.NewStaticV4("", "", "")
	}
	return credentials.NewChainCredentials([]credentials.Provider{environment, file, role})
}

// encryptionOf returns the encryption that the server must use.
func encryptionOf(given address.S3) (encrypt.ServerSide, error) {
	switch given.Encryption {
	case "s3":
		return encrypt.NewSSE(), nil
	case "kms":
		return encrypt.NewSSEKMS(given.Key, nil)
	}
	return nil, nil
}
