package otlp

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// leastSecret is the shortest length of a value that is regarded as a secret. Shorter values
// are words such as "true".
const leastSecret = 6

// redact overwrites the values of the sent headers in a server's answer, without changing its
// length. Otherwise, if a server or a proxy repeats a request in its error, logs and the status
// would show credentials.
func redact(answer []byte, sent []header) {
	for _, h := range sent {
		for _, secret := range secretsIn(h.value) {
			for rest := answer; len(secret) >= leastSecret; {
				i := bytes.Index(rest, []byte(secret))
				if i < 0 {
					break
				}
				for n := range len(secret) {
					rest[i+n] = '*'
				}
				rest = rest[i+len(secret):]
			}
		}
	}
}

// secretsIn returns the value of a header, the part of the value after the scheme of
// credentials, and the password of Basic credentials.
func secretsIn(value string) []string {
	secrets := []string{value}
	scheme, credentials, found := strings.Cut(value, " ")
	if !found {
		return secrets
	}
	secrets = append(secrets, credentials)
	if plain, err := base64.StdEncoding.DecodeString(credentials); err == nil && strings.EqualFold(scheme, "Basic") {
		_, password, _ := strings.Cut(string(plain), ":")
		secrets = append(secrets, password)
	}
	return secrets
}
