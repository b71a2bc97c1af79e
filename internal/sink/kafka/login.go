package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// The environment variables with a user and a password, and the files in a directory that hold
// them, as in a Secret of type kubernetes.io/basic-auth.
const (
	userVariable, passwordVariable = "KAFKA_USERNAME", "KAFKA_PASSWORD"
	userFile, passwordFile         = "username", "password"
)

// maxSecret bounds a file with a user or a password.
const maxSecret = 4096

// loginOf returns the authentication of connections, or nil if there is none. The credentials are
// read for each connection: from files in dir, or from the environment if dir is empty. Missing
// credentials are no error, because the Secret that holds them may be created later: connections
// fail until then.
func loginOf(mechanism, dir string) (sasl.Mechanism, error) {
	read := func() (user, password string, err error) {
		if dir == "" {
			return fromEnvironment()
		}
		return fromDirectory(dir)
	}
	if mechanism != "" && dir != "" {
		if _, _, err := fromDirectory(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	hashed := func(context.Context) (scram.Auth, error) {
		user, password, err := read()
		return scram.Auth{User: user, Pass: password}, err
	}
	switch mechanism {
	case "plain":
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			user, password, err := read()
			return plain.Auth{User: user, Pass: password}, err
		}), nil
	case "scram-sha-256":
		return scram.Sha256(hashed), nil
	case "scram-sha-512":
		return scram.Sha512(hashed), nil
	}
	return nil, nil
}

func fromEnvironment() (user, password string, err error) {
	user, password = os.Getenv(userVariable), os.Getenv(passwordVariable)
	if user == "" || password == "" {
		return "", "", fmt.Errorf("option sasl needs the environment variables %s and %s, or credentials=dir:DIR", userVariable, passwordVariable)
	}
	return user, password, nil
}

func fromDirectory(dir string) (user, password string, err error) {
	user, err = secretIn(filepath.Join(dir, userFile))
	if err != nil {
		return "", "", err
	}
	password, err = secretIn(filepath.Join(dir, passwordFile))
	return user, password, err
}

// secretIn returns the text of a file without the newline at its end.
func secretIn(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("option credentials: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSecret))
	if err != nil {
		return "", fmt.Errorf("option credentials: %w", err)
	}
	secret := strings.TrimRight(string(text), "\r\n")
	if secret == "" {
		return "", fmt.Errorf("option credentials: %s is empty", path)
	}
	return secret, nil
}
