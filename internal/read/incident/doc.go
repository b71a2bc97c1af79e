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
// All parts together have at most [MaxBytes] before compression. The lines come last and share the remaining bytes:
// streams with few lines are complete, and the others lack their oldest lines. An [Archive] holds in memory the
// beginnings of the parts that the index page shows, and no other part.
//
// # Secrets
//
// The log and the crash report of a JVM may print the JVM's command line and its environment. The archive shows only
// the main class and what [mark.Flags] returns of the command line, and no values of environment variables. Files of
// the compiler, which contain all system properties or constants of the application, are left out. The application's
// own lines are as the application wrote them.
//
// # A container's archive
//
// A tenant decides what runs in a container. So the kubectl plugin uses neither the pages nor the file names of an
// archive that comes from a container: [Remake] makes the archive again and reads the parts only as data.
package incident
