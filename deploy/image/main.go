package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

func main() {
	img, out, err := parse(os.Args[1:], os.Getenv("SOURCE_DATE_EPOCH"))
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(2)
	}
	built, err := img.build(out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
	for _, p := range built {
		fmt.Printf("%s: %s linux/%s %s compressed, %s uncompressed\n", out, img.tag, p.arch, mebibytes(p.compressed), mebibytes(p.uncompressed))
	}
}

// parse turns the command line into an image and the path of its archive.
func parse(args []string, epoch string) (img image, out string, err error) {
	fs := flag.NewFlagSet("image", flag.ContinueOnError)
	fs.StringVar(&out, "out", "", "archive to write")
	fs.StringVar(&img.tag, "tag", "", "name of the image: NAME:TAG")
	arch := fs.String("arch", runtime.GOARCH, "architectures, separated by commas; each replaces {arch} in the names of the sources")
	fs.StringVar(&img.user, "user", "", "numeric UID:GID to run as; root if empty")
	entrypoint := fs.String("entrypoint", "", "program and arguments, separated by spaces")
	created := fs.String("created", epoch, "time of the image and of its files, in seconds since 1970; by default SOURCE_DATE_EPOCH, else 0")
	fs.BoolVar(&img.gzip, "gzip", true, "compress the layers")
	img.labels = map[string]string{}
	fs.Func("label", "KEY=VALUE, may be repeated", func(s string) error {
		k, v, ok := strings.Cut(s, "=")
		if !ok || k == "" {
			return errors.New("want KEY=VALUE")
		}
		img.labels[k] = v
		return nil
	})
	fs.Func("env", "NAME=VALUE, may be repeated", func(s string) error {
		img.env = append(img.env, s)
		return nil
	})
	if err := fs.Parse(args); err != nil {
		return image{}, "", err
	}
	img.archs = strings.Split(*arch, ",")
	img.entrypoint = strings.Fields(*entrypoint)
	if out == "" || img.tag == "" || fs.NArg() == 0 {
		return image{}, "", errors.New("--out, --tag and at least one SOURCE=DESTINATION are needed")
	}
	if !validTag.MatchString(img.tag) {
		return image{}, "", fmt.Errorf("--tag %q is not of the form NAME:TAG", img.tag)
	}
	if img.user != "" && !validUser.MatchString(img.user) {
		return image{}, "", fmt.Errorf("--user %q: want UID:GID, in digits, as Kubernetes checks that it is not root", img.user)
	}
	if img.created, err = parseTime(*created); err != nil {
		return image{}, "", err
	}
	for _, arg := range fs.Args() {
		c, err := parseCopy(arg)
		if err != nil {
			return image{}, "", err
		}
		img.layers = append(img.layers, c)
	}
	return img, out, nil
}

// The permitted forms of a reference and of a user. They are stricter than the
// specification.
var (
	validTag  = regexp.MustCompile(`^[a-z0-9][a-z0-9._:/-]*:[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
	validUser = regexp.MustCompile(`^[0-9]+:[0-9]+$`)
)

func parseTime(seconds string) (time.Time, error) {
	if seconds == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || n < 0 {
		return time.Time{}, fmt.Errorf("--created %q is not a number of seconds since 1970", seconds)
	}
	return time.Unix(n, 0).UTC(), nil
}

// mebibytes formats a size for humans.
func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
