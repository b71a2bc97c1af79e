package address

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/base/settings"
)

// kind describes the sinks of a scheme.
type kind struct {
	credentials []string // the environment variables from which the sinks read secrets

	// check returns the first error in the address and its options. It opens no file and no
	// connection.
	check func(*url.URL, *Options) error
}

// kinds are all kinds of sinks by the scheme of their URLs. Programs that only check settings do not
// link the sinks.
var kinds = map[string]kind{
	"kafka":      {[]string{"KAFKA_USERNAME", "KAFKA_PASSWORD"}, checks(ParseKafka)},
	"otlp+http":  {otlpCredentials, checks(ParseOTLP)},
	"otlp+https": {otlpCredentials, checks(ParseOTLP)},
	"s3":         {[]string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}, checks(ParseS3)},
	"stdout":     {nil, checks(ParseStdout)},
}

var otlpCredentials = []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_LOGS_HEADERS"}

func checks[T any](parse func(*url.URL, *Options) (T, error)) func(*url.URL, *Options) error {
	return func(u *url.URL, o *Options) error {
		_, err := parse(u, o)
		return err
	}
}

// Files names the PEM files with the authorities that a sink trusts and with its own certificate.
// The zero value trusts the system's authorities and presents no certificate.
type Files struct {
	CA   string // trusted in addition to the system's certificates
	Cert string // of the client; set together with Key
	Key  string
}

func parseFiles(o *Options) (Files, error) {
	f := Files{
		CA:   o.Text("ca", "", "a file with certificates to trust in addition to the system's, for all connections of the sink; read for each connection"),
		Cert: o.Text("cert", "", "a file with the certificate that the sidecar presents; read for each connection"),
		Key:  o.Text("key", "", "a file with the key of the certificate in `cert`")}
	if (f.Cert == "") != (f.Key == "") {
		return f, errors.New("options cert and key must be set together")
	}
	return f, nil
}

// S3 is the address of a bucket, with the options.
type S3 struct {
	Bucket string
	Prefix string // without slashes around it; may be empty

	Endpoint     *url.URL // http or https, without a path
	Region       string   // empty: that of the environment
	PathStyle    bool     // the bucket is in the path instead of in the host name
	PartSize     settings.Size
	StorageClass string // empty: the default of the bucket

	// Encryption by the server is "s3", "kms" with Key, or the default of the bucket if empty.
	Encryption, Key string

	// Credentials is auto, env, file, role or none. Only a file has a path, which may be empty.
	Credentials, CredentialsFile string

	Profile string // in the file of credentials; empty: the default
	Files   Files
}

// Limits of the S3 protocol on the size of a part.
const (
	leastPart = 5 * settings.Mi
	mostPart  = 5 * settings.Gi
)

// ParseS3 reads the URL of a bucket and its options.
func ParseS3(u *url.URL, o *Options) (S3, error) {
	s := S3{Bucket: u.Host, Prefix: strings.Trim(u.Path, "/"),
		PartSize:     o.Size("part-size", 128*settings.Mi, "larger segments are uploaded in parts of this size"),
		StorageClass: o.Text("storage-class", "", "of each object: by default the bucket's"),
		Region:       o.Text("region", "", "by default `AWS_REGION`"),
		PathStyle:    o.Bool("path-style", false, "put the bucket in the path instead of the host name; most servers other than Amazon's need `true`"),
		Profile:      o.Text("profile", "", "the profile in the credentials file")}
	endpoint := o.Text("endpoint", "https://s3.amazonaws.com", "`https://HOST[:PORT]`, or `http://…`")
	encryption := o.Text("sse", "", "encryption by the server: `s3`, or `kms:KEY`; by default the bucket's")
	credentials := o.Text("credentials", "auto",
		"`env` (`AWS_ACCESS_KEY_ID`, …), `file:PATH` (an AWS credentials file), "+
			"`role` (web identity, pod identity, instance metadata) or `none`; `auto` tries the first three in this order")
	files, unpaired := parseFiles(o)
	s.Files = files
	if err := o.Done(); err != nil {
		return s, err
	}
	if s.Bucket == "" {
		return s, errors.New("no bucket: use s3://BUCKET/PREFIX")
	}
	if s.PartSize < leastPart || s.PartSize > mostPart {
		return s, fmt.Errorf("option part-size=%s is out of range: %s to %s", s.PartSize, leastPart, mostPart)
	}
	var err error
	s.Endpoint, err = url.Parse(endpoint)
	if err == nil && s.Endpoint.User != nil {
		return s, errors.New("option endpoint must not hold a user or password: use the environment or a file")
	}
	if err != nil || s.Endpoint.Host == "" || s.Endpoint.Scheme != "https" && s.Endpoint.Scheme != "http" || strings.Trim(s.Endpoint.Path, "/") != "" {
		return s, fmt.Errorf("option endpoint=%q: use https://HOST, or http://HOST", endpoint)
	}
	s.Encryption, s.Key, _ = strings.Cut(encryption, ":")
	switch {
	case encryption == "", encryption == "s3":
	case s.Encryption != "kms" || s.Key == "":
		return s, fmt.Errorf("option sse=%q: use s3 or kms:KEY", encryption)
	case s.Endpoint.Scheme != "https":
		return s, errors.New("option sse=kms needs an endpoint with https")
	}
	s.Credentials, s.CredentialsFile, _ = strings.Cut(credentials, ":")
	if !slices.Contains([]string{"auto", "env", "file", "role", "none"}, s.Credentials) {
		return s, fmt.Errorf("option credentials=%q: use auto, env, file:PATH, role or none", credentials)
	}
	return s, unpaired
}

// OTLP is the address of a collector, with the options.
type OTLP struct {
	Endpoint string // the URL for requests
	Service  string // empty: that of the environment or of the container
	Headers  string // a file; empty: those of the environment
	Files    Files
}

// ParseOTLP reads the URL of a collector and its options.
func ParseOTLP(u *url.URL, o *Options) (OTLP, error) {
	s := OTLP{
		Service: o.Text("service", "", "the resource's `service.name`: by default `OTEL_SERVICE_NAME`, else `--container-name`"),
		Headers: o.Text("headers", "", "a file with one header per line, `Name: value`, read for each delivery: by default `OTEL_EXPORTER_OTLP_LOGS_HEADERS`, else `OTEL_EXPORTER_OTLP_HEADERS`")}
	files, unpaired := parseFiles(o)
	s.Files = files
	if err := o.Done(); err != nil {
		return s, err
	}
	if u.Host == "" {
		return s, errors.New("no host: use " + u.Scheme + "://HOST/v1/logs")
	}
	to := *u
	_, to.Scheme, _ = strings.Cut(u.Scheme, "+")
	if strings.Trim(to.Path, "/") == "" {
		to.Path = "/v1/logs"
	}
	s.Endpoint = to.String()
	return s, unpaired
}

// Kafka is the address of a topic, with the options.
type Kafka struct {
	Brokers     []string // HOST:PORT
	Topic       string
	Compression string // zstd, lz4 or none
	SendTime    bool   // a record has the time at which it is sent, instead of that of its line
	TLS         bool   // it must be set if Files is not zero
	Files       Files
	Mechanism   string // of SASL: plain, scram-sha-256 or scram-sha-512; empty: no authentication
	Credentials string // a directory with the files username and password; empty: the environment
}

const (
	defaultPort = "9092"
	maxBrokers  = 16
	mostTopic   = 249 // bytes of the name of a topic: Kafka's bound
)

// ParseKafka reads the URL of a topic and its options.
func ParseKafka(u *url.URL, o *Options) (Kafka, error) {
	k := Kafka{Topic: strings.Trim(u.Path, "/"),
		Compression: o.Text("compression", "zstd", "`zstd`, `lz4` or `none`"),
		TLS:         o.Bool("tls", false, "connect with TLS, which `ca`, `cert` and `key` need"),
		Mechanism:   o.Text("sasl", "", "`scram-sha-512`, `scram-sha-256`, or `plain`, which needs `tls=true`")}
	stamp := o.Text("timestamp", "line", "`send`: the time at which a record is sent")
	credentials := o.Text("credentials", "env",
		"where to find user and password: `env` (`KAFKA_USERNAME`, `KAFKA_PASSWORD`), or `dir:DIR` with the files `username` and `password`, "+
			"as in a mounted Secret of type `kubernetes.io/basic-auth`; read for each connection")
	files, unpaired := parseFiles(o)
	k.Files, k.SendTime = files, stamp == "send"
	if err := o.Done(); err != nil {
		return k, err
	}
	var err error
	k.Brokers, err = brokersOf(u.Host)
	from, dir, _ := strings.Cut(credentials, ":")
	k.Credentials = dir
	switch {
	case err != nil:
		return k, err
	case !isTopic(k.Topic):
		return k, fmt.Errorf("%q is not the name of a topic: use kafka://HOST/TOPIC", k.Topic)
	case !slices.Contains([]string{"zstd", "lz4", "none"}, k.Compression):
		return k, errors.New("option compression: use zstd, lz4 or none")
	case stamp != "line" && stamp != "send":
		return k, errors.New("option timestamp: use line or send")
	case unpaired != nil:
		return k, unpaired
	case !k.TLS && files != Files{}:
		return k, errors.New("options ca, cert and key need tls=true")
	case credentials != "env" && (from != "dir" || dir == ""):
		return k, fmt.Errorf("option credentials=%q: use env or dir:DIR", credentials)
	case !slices.Contains([]string{"", "plain", "scram-sha-256", "scram-sha-512"}, k.Mechanism):
		return k, fmt.Errorf("option sasl=%q: use plain, scram-sha-256 or scram-sha-512", k.Mechanism)
	case k.Mechanism == "plain" && !k.TLS:
		return k, errors.New("option sasl=plain sends the password in clear text: it needs tls=true")
	}
	return k, nil
}

// isTopic reports whether Kafka accepts the name of a topic. (A regular expression with this
// bound would cost each command of the program half a millisecond and 220 KiB at its start.)
func isTopic(name string) bool {
	foreign := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	}
	return len(name) <= mostTopic && strings.Trim(name, ".") != "" && !strings.ContainsFunc(name, foreign)
}

// brokersOf returns the addresses in the host part of a URL.
func brokersOf(hosts string) ([]string, error) {
	brokers := strings.Split(hosts, ",")
	if len(brokers) > maxBrokers {
		return nil, fmt.Errorf("%d brokers are listed, at most %d are allowed: the listed brokers report the others", len(brokers), maxBrokers)
	}
	for i, one := range brokers {
		host, port, err := net.SplitHostPort(one)
		if err != nil {
			host, port = strings.Trim(one, "[]"), defaultPort
		}
		if host == "" || port == "" {
			return nil, fmt.Errorf("%q is not a broker: use kafka://HOST:PORT,HOST:PORT/TOPIC", one)
		}
		brokers[i] = net.JoinHostPort(host, port)
	}
	return brokers, nil
}

// Stdout has the options of the sink that writes to the standard output.
type Stdout struct {
	JSON bool // one object a line
}

// ParseStdout reads the options of the sink that writes to the standard output.
func ParseStdout(_ *url.URL, o *Options) (Stdout, error) {
	format := o.Text("format", "text", "`json`: one object a line")
	if err := o.Done(); err != nil {
		return Stdout{}, err
	}
	if format != "text" && format != "json" {
		return Stdout{}, fmt.Errorf("option format=%q: use text or json", format)
	}
	return Stdout{JSON: format == "json"}, nil
}
