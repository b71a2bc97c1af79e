package fault

import "os"

// long chooses between a scenario's full length and its quick one.
func long[T any](full, quick T) T {
	if os.Getenv("ULLAGE_FAULT_LONG") != "" {
		return full
	}
	return quick
}
