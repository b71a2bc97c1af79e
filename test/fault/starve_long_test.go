package fault

import "os"

// long chooses between the full length of a scenario and its quick length.
func long[T any](full, quick T) T {
	if os.Getenv("ULLAGE_FAULT_LONG") != "" {
		return full
	}
	return quick
}
