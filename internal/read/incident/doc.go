// Package incident writes what is known about an incident as one zip: the lines of a window of time, the report of
// that window, whether both are complete, and what the sidecar, the JVM and the kernel show.
//
//	New → Add, Report, Lines → Close
//
// The index page names each part, how much of it is missing, and why. It runs no script. The files with lines and other
// untrusted texts have the suffix .txt or .json, whatever the streams are called, so that no browser takes them for a
// page.
//
// # Bounds
//
// All parts together have at most [MaxBytes] before compression. The lines come last and share what is left: streams
// with few lines are whole, and the others lack their oldest lines. An [Archive] holds in memory the beginnings of the
// parts that the index page shows, and no other part.
//
// # Secrets
//
// Of what a JVM or its crash report prints about its own command line, only what [mark.Flags] returns is in the lines,
// and no values of environment variables. Files of the compiler, which have all system properties or constants of the
// application, are left out. The application's own lines are as the application wrote them.
//
// # A container's archive
//
// In a container, a tenant decides what runs. So the kubectl plugin uses neither the pages of an archive that comes
// from there nor its file names: [Remake] makes the archive again and reads the parts only as data.
package incident
