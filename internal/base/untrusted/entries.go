package untrusted

import "io"

// batch is how many entries of a directory are in memory at a time.
const batch = 512

// EachEntry calls fn with each entry of a directory that earlier calls of read have not returned.
// Other processes may have created any number of entries, so EachEntry reads them in batches. read
// is [os.File.ReadDir] or [os.File.Readdirnames]. fn may remove the entry; its first error ends the
// calls.
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
