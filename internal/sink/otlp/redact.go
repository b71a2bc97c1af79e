package otlp

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// leastSecret is the length at which a value is regarded as a secret: shorter ones are
// words such as "true".
const leastSecret = 6

// redact overwrites the values of the sent headers in a server's answer: a server or a
// proxy that repeats a request in its error would otherwise have credentials in logs and
// in the status. The length stays.
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

// secretsIn returns a header's value, the part after the scheme of credentials, and
// the password of Basic ones.
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
