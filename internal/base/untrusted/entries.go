package untrusted

import "io"

// batch is how many entries of a directory are in memory.
const batch = 512

// EachEntry calls fn with every entry that is left of a directory, to which others may add any number.
// Read is [os.File.ReadDir] or [os.File.Readdirnames]. Fn may remove the entry; its first error ends
// the calls.
func EachEntry[T any](read func(n int) ([]T, error), fn func(T) error) error {
	for {
		entries, err := read(batch)
		for _, e := range entries {
			if err := fn(e); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
