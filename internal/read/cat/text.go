package cat

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/ullage/ullage/internal/base/printable"
)

// readError returns an error with the path. A path that err already has is not repeated.
func readError(path string, err error) error {
	return fmt.Errorf("%s cannot be read: %w", printable.Name(path), reason(err))
}

// reason returns the cause of an error without the path.
func reason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
